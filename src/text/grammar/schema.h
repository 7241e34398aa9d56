// JSON Schema (draft 2020-12) into a network. What is supported stands in
// docs/structured-output.md.
#pragma once

#include <string_view>

#include "text/grammar/net.h"

namespace tenon::grammar {

/// A network, empty before, of all JSON texts that are valid, without white space around them.
/// Throws Error(Grammar) with the JSON pointer of what is wrong, impossible or not supported.
void read_schema(std::string_view text, Net& net);
/// The same as one more rule of a network, whose number is returned.
uint32_t add_schema(std::string_view text, Net& net);

}  // namespace tenon::grammar
