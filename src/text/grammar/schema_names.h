// Names of properties: their order in what is generated, and how those that the schema does not know
// are told apart.
#pragma once

#include "text/grammar/json_value.h"
#include "text/grammar/schema_compiler.h"

namespace tenon::grammar {

/// Whether properties are generated in any order: {"x-tenon": {"property_order": "any"}} in the root.
/// Throws Error(Grammar) for other options.
bool any_order_of(const JsonValue& root, Budget& budget);

/// Names by class and, where they are not of a class of their own, by the sum of their bytes modulo
/// `kinds`: the label of a name is (class - 1) * kinds + kind + 1.
Dfa names_by_kind(const Dfa& keys, const Alternative& alternative, uint32_t kinds, Budget& budget);

}  // namespace tenon::grammar
