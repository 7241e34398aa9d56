// JSON Schema (draft 2020-12) into an NFA. What is supported stands in
// docs/structured-output.md.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/grammar/json_value.h"
#include "text/grammar/kept_parts.h"

namespace tenon::grammar {

/// An NFA, empty before, of all JSON texts that are valid, without white space around them.
/// Throws Error(Grammar) with the JSON pointer of what is wrong, impossible or not supported.
///   parts  where parts are kept and looked for
void read_schema(std::string_view text, Nfa& nfa, KeptParts& parts);
/// The same of a schema that is read already.
///   refusals  null, or gets the keywords that are refused, without which the NFA is written
void read_schema(const JsonValue& root, Nfa& nfa, KeptParts& parts, std::vector<Refusal>* refusals);

/// The same as one more rule of an NFA, whose number is returned. A schema is compiled once as long as
/// the parts keep it.
uint32_t add_schema(std::string_view text, Nfa& nfa, KeptParts& parts);

}  // namespace tenon::grammar
