// Writes a model file with random weights of a known shape: to measure without a download, and to
// test what no published file holds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/system.h"

namespace tenon {

struct RandomModelOptions {
  uint64_t seed = 0;
  /// Returns false to cancel.
  std::function<bool(double fraction)> progress{};
};

/// Writes `path`, a GGUF file that Tenon and llama.cpp load. The same shape, format and seed give
/// the same bytes. Takes a few megabytes of memory whatever the shape; the file appears complete or
/// not at all. Activations stay near 1 and logits near N(0, 2^2), as in a trained model.
/// Throws Argument for an unknown shape or format, Io, Cancelled.
void write_random_model(const std::shared_ptr<System>& system, const std::string& path,
                        std::string_view shape, std::string_view format,
                        const RandomModelOptions& options = {});

}  // namespace tenon
