// Writes a model file of a known shape with random weights, for benchmarks without a download and
// tests without a published file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/system.h"
#include "file/metadata.h"
#include "random_model/random_shapes.h"

namespace tenon {

struct RandomModelOptions {
  uint64_t seed = 0;
  /// Returns false to cancel.
  std::function<bool(double fraction)> progress{};
};

/// Metadata keys of a shape, as read by its architecture.
[[nodiscard]] Metadata random_model_metadata(const ChosenShape& chosen);

/// Writes `path`, a GGUF file for Tenon and llama.cpp. Equal shape, format and seed give equal
/// bytes. Takes a few megabytes of memory for any shape. The file appears complete or not at all.
/// Activations stay near 1 and logits near N(0, 2^2), as in a trained model.
///   shape  "llama-8b", or "llama-8b:4" for its first 4 layers
/// Throws Argument for an unknown shape or format, Io, Cancelled.
void write_random_model(const std::shared_ptr<System>& system, const std::string& path,
                        std::string_view shape, std::string_view format,
                        const RandomModelOptions& options = {});

}  // namespace tenon
