// Pieces that many schemas share, each written as rule 0 of an NFA of its own (kept_parts.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/grammar/schema_compiler.h"

namespace tenon::grammar {

/// Writes a string with its quotes.
void write_string(const Alternative& alternative, KeptParts& parts, Nfa& nfa);
/// Writes a string, with its quotes, whose text is one of a Lark grammar.
void write_lark_string(std::string_view grammar, Nfa& nfa);
/// Writes a number with counted digits, so that it is bounded.
///   below  [states of texts] as in CountLimit
void write_counted_number(const Dfa& texts, const std::vector<uint32_t>& below, Nfa& nfa);
/// Writes a line's end and the next line's indentation.
void write_line(Nfa& nfa);

}  // namespace tenon::grammar
