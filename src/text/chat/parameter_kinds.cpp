#include "text/chat/parameter_kinds.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace tenon {
namespace {

using jinja::Kind;
using jinja::Value;

// Limit on nested schemas and chained references; deeper ones allow any kind.
constexpr int kMaxDepth = 16;
constexpr int kMaxReferences = 16;

JsonKinds kinds_of_name(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, JsonKinds>, 7> kTypes{
      {{"string", kStringKind},
       {"integer", kIntegerKind},
       {"number", kIntegerKind | kFractionKind},
       {"boolean", kBooleanKind},
       {"null", kNullKind},
       {"array", kListKind},
       {"object", kObjectKind}}};
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [type](const auto& entry) { return entry.first == type; });
  return found == kTypes.end() ? kAnyKind : found->second;
}

JsonKinds kinds_of_value(const Value& value) {
  switch (value.kind()) {
    case Kind::String:
      return kStringKind;
    case Kind::Bool:
      return kBooleanKind;
    case Kind::None:
      return kNullKind;
    case Kind::Int:
      return kIntegerKind;
    case Kind::Float:  // includes whole numbers beyond 64 bits
      return kIntegerKind | kFractionKind;
    case Kind::List:
      return kListKind;
    case Kind::Dict:
      return kObjectKind;
    default:
      return kAnyKind;
  }
}

const Value* list_at(const Value& schema, std::string_view key) {
  const Value* found = member_of(schema, key);
  return found != nullptr && found->is(Kind::List) ? found : nullptr;
}

template <typename KindsOf>
JsonKinds any_of(const Value& list, KindsOf kinds_of) {
  JsonKinds kinds = 0;
  for (const Value& one : list.items().values) kinds |= kinds_of(one);
  return kinds;
}

}  // namespace

const Value* member_of(const Value& object, std::string_view key) {
  return object.is(Kind::Dict) ? object.entries().find(key) : nullptr;
}

std::string_view text_of(const Value* value) {
  return value != nullptr && value->is(Kind::String) ? value->text().view() : std::string_view();
}

const Value& resolved_schema(const Value& schema, const Value& whole) {
  const Value* at = &schema;
  for (int i = 0; i < kMaxReferences; ++i) {
    std::string_view path = text_of(member_of(*at, "$ref"));
    if (!path.starts_with("#/")) return *at;
    path.remove_prefix(2);
    const Value* found = &whole;
    while (found != nullptr && !path.empty()) {
      const size_t slash = path.find('/');
      found = member_of(*found, path.substr(0, slash));
      path = slash == path.npos ? std::string_view() : path.substr(slash + 1);
    }
    if (found == nullptr) return *at;
    at = found;
  }
  return *at;
}

JsonKinds KindReader::of(const Value& schema) {
  const JsonKinds kinds = read(schema);
  return kinds == 0 ? kAnyKind : kinds;
}

JsonKinds KindReader::read(const Value& given) {
  if (depth_ >= kMaxDepth) return kAnyKind;
  const Value& schema = resolved_schema(given, whole_);
  // References and alternatives may form cycles, which allow any kind.
  const auto [known, is_new] = known_.emplace(&schema, kAnyKind);
  if (!is_new) return known->second;
  ++depth_;
  known->second = read_one(schema);
  --depth_;
  return known->second;
}

JsonKinds KindReader::read_one(const Value& schema) {
  JsonKinds kinds = kAnyKind;
  if (const Value* type = member_of(schema, "type")) {
    kinds &= type->is(Kind::List)
                 ? any_of(*type, [](const Value& name) { return kinds_of_name(text_of(&name)); })
                 : kinds_of_name(text_of(type));
  }
  if (const Value* choices = list_at(schema, "enum")) kinds &= any_of(*choices, kinds_of_value);
  if (const Value* only = member_of(schema, "const")) kinds &= kinds_of_value(*only);
  for (const std::string_view key : {"anyOf", "oneOf"}) {
    const Value* schemas = list_at(schema, key);
    if (schemas == nullptr) continue;
    kinds &= any_of(*schemas, [this](const Value& one) { return read(one); });
  }
  if (const Value* schemas = list_at(schema, "allOf")) {
    for (const Value& one : schemas->items().values) kinds &= read(one);
  }
  return kinds;
}

}  // namespace tenon
