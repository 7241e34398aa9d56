// A model of some of another one's layers with made-up weights: what a machine is measured with
// before the other one is loaded.
#pragma once

#include <cstdint>
#include <memory>

#include "arch/architectures.h"
#include "file/model_file.h"
#include "model/model.h"

namespace tenon {

struct ProbeModel {
  std::shared_ptr<const ModelFile> file;  ///< delivers weights, but has no metadata
  BuiltProgram built;
};

/// As many layers as bring the matrices of a step to `bytes`, taken evenly from all; at least one.
/// Steps of `max_tokens` tokens. Reads no weights but rope divisors.
ProbeModel make_probe_model(const Model& model, uint64_t bytes, uint32_t max_tokens);

}  // namespace tenon
