// Models of random weights, a small one of each architecture. For tests only.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "model/model.h"
#include "random_model/random_model.h"
#include "tests/base/temp_folder.h"

namespace tenon {

inline std::shared_ptr<const Model> load_random_tiny(const std::string& architecture,
                                                     uint32_t slice, uint32_t threads = 2) {
  const TempFolder folder;
  const std::string path = folder.path("model.gguf");
  write_random_model(System::real(), path, "tiny-" + architecture, "q8_0");
  const auto load_on = [&](std::string backend) {
    ModelOptions options;
    options.slice = slice;
    options.threads = threads;
    options.context = 256;
    options.backend = std::move(backend);
    return Model::load(path, std::move(options));
  };
  try {
    return load_on("cpu");
  } catch (const Error& error) {
    if (error.code() != Code::Unsupported) throw;
    return load_on("reference");
  }
}

/// Loads a random model on the devices that these options name.
inline std::shared_ptr<const Model> load_random_placed(const std::string& architecture,
                                                       uint32_t slice, ModelOptions options) {
  const TempFolder folder;
  const std::string path = folder.path("model.gguf");
  write_random_model(System::real(), path, "tiny-" + architecture, "q8_0");
  options.slice = slice;
  options.threads = 2;
  options.context = 256;
  return Model::load(path, std::move(options));
}

}  // namespace tenon
