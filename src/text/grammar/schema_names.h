// Property names: their order in generated objects, and the classes of names unknown to the schema.
#pragma once

#include "text/grammar/json_value.h"
#include "text/grammar/schema_compiler.h"

namespace tenon::grammar {

/// True if properties may come in any order: {"x-tenon": {"property_order": "any"}} in the root.
/// Throws Error(Grammar) for other options.
bool any_order_of(const JsonValue& root, Budget& budget);

/// Automaton that labels names by class, and unknown names also by the sum of their bytes modulo
/// `kinds`. A name's label is (class - 1) * kinds + kind + 1.
Dfa names_by_kind(const Dfa& keys, const Alternative& alternative, uint32_t kinds, Budget& budget);

}  // namespace tenon::grammar
