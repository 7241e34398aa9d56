// Compiles regular expressions (the regular part of ECMA-262 with the flag u) to automata. Without
// backtracking, it refuses back references, word boundaries and lookaround, except lookahead at the
// beginning of the text, which is a further automaton that must match.
#pragma once

#include <string_view>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

/// Automaton of the texts that contain a match (`search`, as in JSON Schema) or that match as a
/// whole. Throws Error(Grammar) naming the budget's place and the byte of the pattern.
Dfa regex_dfa(std::string_view pattern, bool search, Budget& budget);

}  // namespace tenon::grammar
