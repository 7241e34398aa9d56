#include "option_readers.h"

#include <string>
#include <utility>
#include <vector>

#include "option_table.h"

#define OPTION(key, member, kind, doc) options.member = option_in(set, #key, kind);
#define OPTION_APART(key, kind, doc)

namespace tenon::capi {
namespace {

/// Options backend.KEY, and the two options that set such a key under another name.
std::vector<std::pair<std::string, std::string>> backend_options(const OptionSet& set) {
  auto options = set.backend_options();
  for (const char* key : {"isa", "bf16_activations"}) {
    const std::string value = set.string(key);
    if (value != find_option(key).string_default) options.emplace_back(key, value);
  }
  return options;
}

}  // namespace

ModelOptions model_options(const OptionSet& set, const std::shared_ptr<Host>& host) {
  ModelOptions options;
#include "model/model_options.def"
  options.backend_options = backend_options(set);
  options.executor = host->executor();
  options.log = host->log();
  options.system = host->system();
  // Plain pointer: the model handle and its sessions hold the host.
  options.progress = [raw = host.get()](double fraction) { return raw->progress(fraction); };
  return options;
}

SessionOptions session_options(const OptionSet& set) {
  SessionOptions options;
#include "engine/session_options.def"
  return options;
}

EngineOptions engine_options(const OptionSet& set, System& system) {
  EngineOptions options;
#include "engine/engine_options.def"
  if (options.cache_bytes == 0) options.cache_bytes = system.available_memory() / 4;
  return options;
}

EmbedderOptions embedder_options(const OptionSet& set) {
  EmbedderOptions options;
#include "engine/embedder_options.def"
  return options;
}

}  // namespace tenon::capi

#undef OPTION
#undef OPTION_APART
