// Groups states that are equivalent for all inputs of up to k bytes (k-equivalence, Moore 1956);
// they share a token mask.
//
//   "a"{5}, k = 1: the states after 0, 1, 2 and 3 characters are equivalent; after 4, the text "a"
//   completes the grammar's text, which it does not after 3.
#pragma once

#include <vector>

#include "text/grammar/automaton.h"

namespace tenon::grammar {

struct EquivalentStates {
  /// Compares states by the texts of up to `bytes` bytes within their rules, and by each text's
  /// change of the distance to the end. A state with calls or actions is equivalent only to itself.
  /// Automata beyond a limit are not compared: each state is its own group.
  EquivalentStates(const Automaton& automaton, size_t bytes);

  std::vector<uint32_t> first;  ///< [states] first equivalent state
  std::vector<bool> shared;     ///< [states] by first: true if it represents others
  bool exact = true;            ///< the equivalence holds for texts of any length
};

}  // namespace tenon::grammar
