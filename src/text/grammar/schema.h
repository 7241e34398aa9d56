// Converts JSON Schema (draft 2020-12) to an NFA. docs/structured-output.md lists what is
// supported.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/grammar/json_value.h"
#include "text/grammar/kept_parts.h"

namespace tenon::grammar {

/// Writes all valid JSON texts, without white space around them, into an empty NFA. Throws
/// Error(Grammar) with the JSON pointer of an invalid, unsatisfiable or unsupported part.
///   parts  cache of compiled parts
void read_schema(std::string_view text, Nfa& nfa, KeptParts& parts);
/// Variant for a parsed schema.
///   refusals  may be null; else receives the refused keywords, which the NFA ignores
void read_schema(const JsonValue& root, Nfa& nfa, KeptParts& parts, std::vector<Refusal>* refusals);

/// Adds the schema as a rule of an NFA and returns its number. A schema is compiled once while the
/// parts keep it.
uint32_t add_schema(std::string_view text, Nfa& nfa, KeptParts& parts);

}  // namespace tenon::grammar
