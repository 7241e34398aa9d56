// Parses GBNF, the grammar notation of llama.cpp: rules of characters, classes, groups and
// repetitions.
#pragma once

#include <string_view>

#include "text/grammar/nfa.h"

namespace tenon::grammar {

/// Writes a grammar into an NFA, its rule "root" first. Throws Error(Grammar) naming the line: for
/// syntax errors, unknown or duplicate rules, repetitions of possibly empty parts, and limits.
void read_gbnf(std::string_view text, Nfa& nfa);

}  // namespace tenon::grammar
