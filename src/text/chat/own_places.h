// Parts of a call that the model itself chooses: numbers and ids outside any schema.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/grammar/nfa.h"

namespace tenon {

/// Adds a place of call_shape.h after `from`: "number", "id" or "ten". Returns the node after it.
uint32_t add_own_place(grammar::Nfa& nfa, std::string_view name, uint32_t from);

}  // namespace tenon
