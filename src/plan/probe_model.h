// A model of some layers of another with synthetic weights, to measure a machine before the other
// is loaded.
#pragma once

#include <cstdint>
#include <memory>

#include "arch/architectures.h"
#include "file/model_file.h"
#include "model/model.h"

namespace tenon {

struct ProbeModel {
  std::shared_ptr<const ModelFile> file;  ///< provides weights but no metadata
  BuiltProgram built;
};

/// Takes layers evenly from the model until the matrices of a step reach `bytes`; at least one
/// layer. Steps have `max_tokens` tokens. Reads no weights except rope divisors.
ProbeModel make_probe_model(const Model& model, uint64_t bytes, uint32_t max_tokens);

}  // namespace tenon
