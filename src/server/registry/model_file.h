// A model that the server opens from its file when it is wanted: where it lies, how it is opened, and what
// it takes.
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
  tenon::ExtraOptions engine_options{};  ///< cache_bytes among them, after measure()
  uint64_t context = 0;                  ///< of each request; 0: as a session has by default
  uint64_t memory_bytes = 0;             ///< weights, cache and what computing takes
};

/// Lines "key=value". Throws tenon::Error for one that is not.
tenon::ExtraOptions read_option_lines(const char* text);

/// Looks into the file, without its weights, and fills in what is 0 or missing. Throws tenon::Error.
///   cache_bytes  of the KV cache, unless engine_options say; 0: for four texts of the whole context
void measure(ModelFile& file, uint64_t cache_bytes);

/// A model of a file in memory, and what serves it.
class LoadedModel {
 public:
  /// progress: as tenon::ModelOptions. Throws tenon::Error.
  LoadedModel(const std::string& name, const ModelFile& file, std::function<bool(double)> progress);

  [[nodiscard]] const ServedModel& served() const { return served_; }

 private:
  tenon::Model model_;
  ServedModel served_;
};

}  // namespace tenon_http
