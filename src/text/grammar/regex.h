// Regular expressions (the regular part of ECMA-262 with the flag u) into automata. There is no
// backtracking, so no back reference, word boundary or lookaround: they are refused, but for
// lookahead at the beginning of the text, which is one automaton more that must hold.
#pragma once

#include <string_view>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

/// The texts that contain a match (`search`, as JSON Schema wants) or are one. Throws
/// Error(Grammar) naming the place in the budget and the byte of the pattern.
Dfa regex_dfa(std::string_view pattern, bool search, Budget& budget);

}  // namespace tenon::grammar
