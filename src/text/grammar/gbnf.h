// Reads GBNF, the grammar notation that llama.cpp documents: rules of characters, classes, groups
// and repetitions.
#pragma once

#include <string_view>

#include "text/grammar/net.h"

namespace tenon::grammar {

/// The network of a grammar, its rule "root" first. Throws Error(Grammar) naming the line: for what
/// cannot be read, unknown or doubled rules, repetitions of what may be empty, and limits.
void read_gbnf(std::string_view text, Net& net);

}  // namespace tenon::grammar
