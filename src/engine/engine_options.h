// Options of an engine (engine_options.def).
#pragma once

#include <cstdint>

#include "base/option_kinds.h"
#include "engine/drafter.h"

namespace tenon {

struct EngineOptions {
#define OPTION(key, member, kind, doc) decltype(kind)::Value member = option::initial(kind);
#define OPTION_APART(key, kind, doc)
#include "engine/engine_options.def"
#undef OPTION
#undef OPTION_APART
};

/// Options for sessions that share nothing: no limits and no prefix cache.
inline EngineOptions unbounded_engine() {
  EngineOptions options;
  options.cache_bytes = UINT64_MAX;
  options.max_running = 256;
  options.max_queued = UINT64_MAX;
  options.prefix_cache = false;
  options.answer_bytes = 0;
  return options;
}

}  // namespace tenon
