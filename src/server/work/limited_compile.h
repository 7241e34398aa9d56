// Compiles grammars under the calling thread's WorkLimit.
#pragma once

#include <tenon/grammar.hpp>

#include "server/work/work_limit.h"

namespace tenon_http {

/// Options under which a compilation polls the thread's WorkLimit and throws WorkEnd.
///   tokenizer  may be null; else the grammar is prepared for its vocabulary
inline tenon::CompileOptions under_work_limit(const tenon::Tokenizer* tokenizer = nullptr) {
  tenon::CompileOptions options;
  options.tokenizer = tokenizer;
  options.should_stop = [] {
    WorkLimit::look(WorkLimit::kLongWork);
    return false;
  };
  return options;
}

}  // namespace tenon_http
