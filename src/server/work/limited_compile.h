// Compiling grammars under the calling thread's WorkLimit.
#pragma once

#include <tenon/grammar.hpp>

#include "server/work/work_limit.h"

namespace tenon_http {

/// A compilation with these options throws WorkEnd when the thread's WorkLimit says so.
///   tokenizer  may be null; prepares the grammar for this vocabulary
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
