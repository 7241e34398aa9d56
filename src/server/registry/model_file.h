// Model that the server opens from its file on demand: path, options and memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tenon/model.hpp>
#include <tenon/options.hpp>
#include <utility>

#include "server/registry/served_model.h"

namespace tenon_http {

struct ModelFile {
  std::string path;
  tenon::ExtraOptions model_options{};
  tenon::ExtraOptions engine_options{};  ///< include cache_bytes after measure()
  uint64_t context = 0;                  ///< per request; 0 means the default of a session
  uint64_t memory_bytes = 0;             ///< weights, KV cache and buffers
};

/// Parses lines "key=value". Throws tenon::Error for a malformed line.
tenon::ExtraOptions read_option_lines(const char* text);

/// Reads the file's header, without weights, and fills in members that are 0 or missing. Throws
/// tenon::Error.
///   cache_bytes  for the KV cache, unless engine_options set it; 0 means four full contexts
void measure(ModelFile& file, uint64_t cache_bytes);

/// True if the options open the model with slots for adapters.
bool takes_adapters(const ModelFile& file);

/// Model of a file in memory, with the object that serves it.
class LoadedModel {
 public:
  /// progress: as in tenon::ModelOptions. Throws tenon::Error.
  LoadedModel(const std::string& name, const ModelFile& file, std::function<bool(double)> progress);

  [[nodiscard]] const ServedModel& served() const { return served_; }

 private:
  tenon::Model model_;
  ServedModel served_;
};

}  // namespace tenon_http
