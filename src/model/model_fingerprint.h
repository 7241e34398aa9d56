// What tells one loaded model from another. How snapshots use it is the engine's business.
#pragma once

#include "base/hash.h"
#include "file/model_file.h"
#include "weights/tensor_samples.h"

namespace tenon {

/// Of the metadata (as overridden), the directory of tensors and the samples of each tensor.
Hash128 model_fingerprint(const ModelFile& file, const TensorSamples& samples);

}  // namespace tenon
