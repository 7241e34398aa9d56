// Which states of an automaton no short text tells apart: masks are worked out once for all of
// them.
#pragma once

#include <vector>

#include "text/grammar/automaton.h"

namespace tenon::grammar {

struct AlikeStates {
  /// Compares states by the texts of up to `bytes` bytes, staying within their rules, and by how
  /// much nearer to the end these lead. States with calls or actions are like no other. Too large
  /// automata are not compared: each state is its own.
  AlikeStates(const Automaton& automaton, size_t bytes);

  std::vector<uint32_t> first;  ///< [states] the first state that is alike
  std::vector<bool> shared;     ///< [states] by first: whether it stands for others
  bool exact = true;            ///< alike states are so for texts of any length
};

}  // namespace tenon::grammar
