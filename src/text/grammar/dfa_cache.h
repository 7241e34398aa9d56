// Process-wide cache of recent automata of patterns and formats, which schemas repeat often.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

/// Cached automaton of `key`, or the result of `make`. A cached automaton charges the budget as
/// compiling did, so refusals do not depend on the cache. Thread-safe.
std::shared_ptr<const Dfa> cached_dfa(const std::string& key, Budget& budget,
                                      const std::function<Dfa()>& make);
/// Bound on all cached automata together.
inline constexpr size_t kMostDfaBytes = size_t{4} << 20;

}  // namespace tenon::grammar
