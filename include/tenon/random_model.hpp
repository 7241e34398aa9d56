// Model files with random weights of known shapes: to measure and to test without a download.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tenon/error.hpp>
#include <tenon/progress.hpp>
#include <vector>

namespace tenon {
inline namespace v1 {

struct RandomModelOptions {
  uint64_t seed = 0;
  /// Returns false to cancel; it may throw.
  std::function<bool(double fraction)> progress{};
};

/// Writes a model file of random weights to `path`; tenon.h, section 13, has the names of shapes
/// and formats. Throws Argument for an unknown name, Io, Cancelled.
inline void write_random_model(const std::string& path, const std::string& shape,
                               const std::string& format, const RandomModelOptions& options = {}) {
  detail::Progress progress{options.progress};
  const tenon_status status =
      tenon_random_model_write(path.c_str(), shape.c_str(), format.c_str(), options.seed,
                               options.progress ? &detail::Progress::call : nullptr, &progress);
  progress.check(status);
}

inline std::vector<std::string> random_model_shapes() {
  std::vector<std::string> names;
  while (const char* name = tenon_random_model_shape(names.size())) names.emplace_back(name);
  return names;
}

inline std::vector<std::string> random_model_formats() {
  std::vector<std::string> names;
  while (const char* name = tenon_random_model_format(names.size())) names.emplace_back(name);
  return names;
}

}  // namespace v1
}  // namespace tenon
