// Compiles regular expressions (the regular part of ECMA-262 with the flag u) to automata. Without
// backtracking, it refuses back references, word boundaries and lookaround, except lookahead at the
// beginning of the text, which is a further automaton that must match.
#pragma once

#include <string_view>

#include "text/grammar/dfa.h"
#include "text/grammar/expr.h"

namespace tenon::grammar {

/// Automaton of the texts that contain a match (`search`, as in JSON Schema) or that match as a
/// whole. Throws Error(Grammar) naming the budget's place and the byte of the pattern.
Dfa regex_dfa(std::string_view pattern, bool search, Budget& budget);

/// Flags of a regular expression that is part of another notation.
struct RegexFlags {
  bool any_case = false;
  bool dot_all = false;
};
/// Tree of a regular expression within a text, without any lookahead. A dot excludes line feeds
/// only. Throws as regex_dfa.
Expr regex_expr(std::string_view pattern, RegexFlags flags, Budget& budget);

}  // namespace tenon::grammar
