// The automata of patterns and formats that were made last, for all grammars of the process: schemas
// use few of them again and again.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

/// What `make` makes of `key`, unless it is there: then with the same use of the budget, so that what
/// is refused does not depend on what came before. Any thread.
std::shared_ptr<const Dfa> cached_dfa(const std::string& key, Budget& budget,
                                      const std::function<Dfa()>& make);
/// Of all that is kept, at most.
inline constexpr size_t kMostDfaBytes = size_t{4} << 20;

}  // namespace tenon::grammar
