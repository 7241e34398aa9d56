// Reads GBNF, the grammar notation that llama.cpp documents: rules of characters, classes, groups
// and repetitions.
#pragma once

#include <string_view>

#include "text/grammar/nfa.h"

namespace tenon::grammar {

/// The NFA of a grammar, its rule "root" first. Throws Error(Grammar) naming the line: for what
/// cannot be read, unknown or doubled rules, repetitions of what may be empty, and limits.
void read_gbnf(std::string_view text, Nfa& nfa);

}  // namespace tenon::grammar
