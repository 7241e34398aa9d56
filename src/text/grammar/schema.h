// JSON Schema (draft 2020-12) into an NFA. What is supported stands in
// docs/structured-output.md.
#pragma once

#include <string_view>

#include "text/grammar/nfa.h"

namespace tenon::grammar {

/// An NFA, empty before, of all JSON texts that are valid, without white space around them.
/// Throws Error(Grammar) with the JSON pointer of what is wrong, impossible or not supported.
void read_schema(std::string_view text, Nfa& nfa);
/// The same as one more rule of an NFA, whose number is returned.
uint32_t add_schema(std::string_view text, Nfa& nfa);

}  // namespace tenon::grammar
