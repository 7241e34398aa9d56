// Regular expressions (the regular part of ECMA-262 with the flag u) into automata. There is no
// backtracking, so no lookaround, back reference or word boundary: they are refused.
#pragma once

#include <string_view>

#include "text/grammar/dfa.h"
#include "text/grammar/expr.h"

namespace tenon::grammar {

/// Throws Error(Grammar) naming the place in the budget and the byte of the pattern.
Expr parse_regex(std::string_view pattern, Budget& budget);

/// The texts that contain a match (`search`, as JSON Schema wants) or are one.
Dfa regex_dfa(std::string_view pattern, bool search, Budget& budget);

}  // namespace tenon::grammar
