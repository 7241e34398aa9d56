// Hash that identifies a loaded model, for snapshots.
#pragma once

#include "base/hash.h"
#include "file/model_file.h"
#include "weights/tensor_samples.h"

namespace tenon {

/// Hashes the metadata (as overridden), the tensor directory and the samples of each tensor.
Hash128 model_fingerprint(const ModelFile& file, const TensorSamples& samples);

}  // namespace tenon
