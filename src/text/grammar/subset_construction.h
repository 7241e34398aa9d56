// Subset construction (Rabin, Scott 1959): turns an NFA into states without choices over bytes.
// Calls and actions stay as edges of their states; what they mean is not known here.
//
//   0 -a-> 1, 0 -a-> 2, 2 -b-> 3   becomes   {0} -a-> {1, 2} -b-> {3}
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

/// A call or an action on the way.
struct Special {
  EdgeKind kind;
  uint32_t data;
  uint32_t to;
  auto operator<=>(const Special&) const = default;
};

/// The sets of NFA nodes as states: a Dfa, with label 1 for the end, and the calls and actions of
/// each state.
struct Subsets {
  Dfa dfa;
  std::vector<std::vector<Special>> specials;  ///< [states]
};
Subsets make_deterministic(const Nfa& nfa, uint32_t start, uint32_t final);

}  // namespace tenon::grammar
