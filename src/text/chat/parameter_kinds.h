// What kinds of values a JSON Schema lets a parameter be, as far as its keywords say so plainly.
#pragma once

#include <map>
#include <string_view>

#include "text/chat_formats/json_kinds.h"
#include "text/template/jinja_value.h"

namespace tenon {

/// A member of an object; null when there is none, or no object.
const jinja::Value* member_of(const jinja::Value& object, std::string_view key);
/// The text of a value; empty when it is none.
std::string_view text_of(const jinja::Value* value);

/// The schema that "$ref"s into `whole` lead to, as far as they can be followed.
const jinja::Value& resolved_schema(const jinja::Value& schema, const jinja::Value& whole);

/// Reads the kinds of what is in one schema, each part of it once.
class KindReader {
 public:
  /// whole: the schema that references begin at; outlives this.
  explicit KindReader(const jinja::Value& whole) : whole_(whole) {}

  /// Of `schema` in `whole`. kAnyKind where nothing is said.
  JsonKinds of(const jinja::Value& schema);

 private:
  JsonKinds read(const jinja::Value& given);
  JsonKinds read_one(const jinja::Value& schema);

  const jinja::Value& whole_;
  std::map<const jinja::Value*, JsonKinds> known_;
  int depth_ = 0;
};

}  // namespace tenon
