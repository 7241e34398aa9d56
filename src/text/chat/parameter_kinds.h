// Kinds of values that a JSON Schema allows for a parameter, as far as its keywords state them
// plainly.
#pragma once

#include <map>
#include <string_view>

#include "text/chat_formats/json_kinds.h"
#include "text/template/jinja_value.h"

namespace tenon {

/// Member of an object; null if absent, or if `object` is no object.
const jinja::Value* member_of(const jinja::Value& object, std::string_view key);
/// Text of a value; empty if it is no text.
std::string_view text_of(const jinja::Value* value);

/// Schema that the "$ref"s into `whole` lead to, as far as they resolve.
const jinja::Value& resolved_schema(const jinja::Value& schema, const jinja::Value& whole);

/// Determines the kinds of values in a schema, visiting each part once.
class KindReader {
 public:
  /// whole: root for resolving references; outlives this object.
  explicit KindReader(const jinja::Value& whole) : whole_(whole) {}

  /// Kinds of `schema` within `whole`; kAnyKind if unrestricted.
  JsonKinds of(const jinja::Value& schema);

 private:
  JsonKinds read(const jinja::Value& given);
  JsonKinds read_one(const jinja::Value& schema);

  const jinja::Value& whole_;
  std::map<const jinja::Value*, JsonKinds> known_;
  int depth_ = 0;
};

}  // namespace tenon
