// Ways to values in a JSON document, and the pointers that name them.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "text/grammar/json_value.h"

namespace tenon::grammar {

/// From an object or array to a child.
struct JsonStep {
  const JsonValue* parent;
  size_t index;
};
/// Steps from the root of a document to a value in it.
using JsonWay = std::vector<JsonStep>;
using JsonWays = std::unordered_map<const JsonValue*, JsonWay>;

const JsonValue& child_at(const JsonStep& step);

/// Ways to those of `values` that are in the document. One walk finds them all; its steps pass the
/// budget.
JsonWays ways_to(std::unordered_set<const JsonValue*> values, const JsonValue& root,
                 Budget& budget);

/// JSON pointer: "/properties/a~1b". max_name: bytes of a name that are shown.
std::string pointer_of(const JsonWay& way, size_t max_name = std::string::npos);

}  // namespace tenon::grammar
