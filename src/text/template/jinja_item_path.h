// The argument `attribute` of many filters: a path like "function.name" or 0 into each item.
#pragma once

#include <string_view>
#include <vector>

#include "text/template/jinja_value.h"

namespace tenon::jinja {

class Interpreter;

/// Type name of groupby's tuples, which have .grouper and .list.
inline constexpr std::string_view kGroupType = "_GroupTuple";

class ItemPath {
 public:
  /// attribute: Absent or None for the item itself. otherwise: replaces undefined parts.
  explicit ItemPath(const Value& attribute, Value otherwise = Value::absent());
  /// Parses comma-separated paths.
  static std::vector<ItemPath> several(const Value& attribute);

  [[nodiscard]] Value of(Interpreter& jinja, Value item) const;

 private:
  std::vector<Value> parts_;
  Value otherwise_;
};

}  // namespace tenon::jinja
