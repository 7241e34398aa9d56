// Parses Lark, the grammar notation of the Python package: rules and terminals of strings, ranges,
// regular expressions, groups and repetitions. docs/structured-output.md lists what is supported.
//
//   start: "(" start ")" | NAME     texts like "((ab))"
//   NAME: /[a-z]+/
#pragma once

#include <string_view>

#include "text/grammar/nfa.h"

namespace tenon::grammar {

/// Writes a grammar into an empty NFA, its rule "start" first. Rules that do not recur are written
/// in place of their uses, so a small regular grammar is one rule. Terminals match in any way that
/// fits, as with Lark's Earley parser. Returns true if no rule is called: rule 0 is regular.
/// Throws Error(Grammar) naming line and column.
bool read_lark(std::string_view text, Nfa& nfa);

}  // namespace tenon::grammar
