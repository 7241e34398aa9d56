// What kinds of values a JSON Schema lets a parameter be, as far as its keywords say so plainly.
#pragma once

#include <string_view>

#include "text/chat_formats/json_kinds.h"
#include "text/template/jinja_value.h"

namespace tenon {

/// A member of an object; null when there is none, or no object.
const jinja::Value* member_of(const jinja::Value& object, std::string_view key);
/// The text of a value; empty when it is none.
std::string_view text_of(const jinja::Value* value);

/// The schema behind "$ref"s into `whole`, as far as they can be followed.
const jinja::Value& resolved_schema(const jinja::Value& schema, const jinja::Value& whole);

/// whole: the schema that references begin at. kAnyKind where nothing is said.
JsonKinds kinds_of_schema(const jinja::Value& schema, const jinja::Value& whole);

}  // namespace tenon
