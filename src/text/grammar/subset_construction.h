// Subset construction (Rabin, Scott 1959): makes an NFA deterministic over bytes. Calls and actions
// remain edges of their states and are not interpreted.
//
//   0 -a-> 1, 0 -a-> 2, 2 -b-> 3   becomes   {0} -a-> {1, 2} -b-> {3}
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

/// Call or action as an edge.
struct Special {
  EdgeKind kind;
  uint32_t data;
  uint32_t to;
  auto operator<=>(const Special&) const = default;
};

/// Sets of NFA nodes as states: a DFA whose label 1 marks the end, with each state's calls and
/// actions.
struct Subsets {
  Dfa dfa;
  std::vector<std::vector<Special>> specials;  ///< [states]
};
Subsets make_deterministic(const Nfa& nfa, uint32_t start, uint32_t final);

}  // namespace tenon::grammar
