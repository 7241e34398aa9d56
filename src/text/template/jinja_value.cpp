#include "text/template/jinja_value.h"

#include <algorithm>

#include "text/template/jinja_operators.h"

namespace tenon::jinja {
namespace {

constexpr size_t kIndexedEntries = 16;
// Keys other than strings are searched linearly.
constexpr size_t kMaxPlainKeys = 4096;

}  // namespace

Extent extent_of(const Value& value) {
  if (value.is(Kind::Dict)) return value.entries().extent;
  const bool has_items = value.is_sequence() || value.is(Kind::Cycler) || value.is(Kind::Joiner);
  if (has_items) return value.items().extent;
  if (value.is(Kind::Method)) {
    Extent extent = extent_of(static_cast<const MethodObject&>(*value.pointer()).self);
    ++extent.depth;
    return extent;
  }
  // Contents of namespaces may change, so they count as foreign.
  if (value.is(Kind::Namespace)) return {.depth = 0, .foreign = true};
  return {.depth = 0, .foreign = value.is(Kind::String) && value.text().has_foreign()};
}

void Extent::include(const Value& child) {
  const Extent of_child = extent_of(child);
  depth = std::max(depth, of_child.depth + 1);
  weight += of_child.weight;
  foreign |= of_child.foreign;
  if (depth > kMaxValueDepth) raise("values nest deeper than {}", kMaxValueDepth);
  if (weight > kMaxValueWeight) raise("a list or dict holds more than {} values", kMaxValueWeight);
}

Value Value::undefined(std::string message, Budget* budget) {
  auto object = std::make_shared<UndefinedObject>();
  object->charge(budget, message.size() + 64);
  object->message = std::move(message);
  return Value::object(Kind::Undefined, std::move(object));
}

Value Value::string(Text text, Budget* budget) {
  auto object = std::make_shared<StringObject>();
  if (budget != nullptr) {
    budget->check_size(text.size());
    budget->spend_bytes(text.size());
    object->charge(budget, text.size() + text.bytes_of_marks() + 64);
  }
  object->text = std::move(text);
  return Value::object(Kind::String, std::move(object));
}

Value Value::markup(Text text, Budget* budget) {
  Value out = string(std::move(text), budget);
  static_cast<StringObject&>(*out.object_).is_markup = true;
  return out;
}

bool Value::is_markup() const {
  return is(Kind::String) && static_cast<const StringObject&>(*object_).is_markup;
}

Value Value::sequence(Kind kind, std::vector<Value> items, Budget* budget) {
  auto object = std::make_shared<Sequence>();
  if (budget != nullptr) budget->spend(1 + items.size() / 8);
  object->charge(budget, items.size() * sizeof(Value) + 64);
  for (const Value& item : items) object->extent.include(item);
  if (kind == Kind::Tuple) object->type = "tuple";
  if (kind == Kind::Generator) object->type = "generator";
  if (kind == Kind::Cycler) object->type = "Cycler";
  if (kind == Kind::Joiner) object->type = "Joiner";
  object->values = std::move(items);
  return Value::object(kind, std::move(object));
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the pairs are moved from.
Value Value::dict(std::vector<std::pair<Value, Value>> entries, Budget* budget) {
  auto object = std::make_shared<Dict>();
  if (budget != nullptr) budget->spend(1 + entries.size());
  object->charge(budget, entries.size() * 3 * sizeof(Value) + 64);
  object->entries.reserve(entries.size());
  size_t plain_keys = 0;
  for (auto& [key, value] : entries) {
    object->extent.include(key);
    object->extent.include(value);
    if (!key.is(Kind::String) && ++plain_keys > kMaxPlainKeys) {
      raise("a dict holds more than {} keys that are no strings", kMaxPlainKeys);
    }
    // Keys from outside are strings.
    const Value* known =
        budget != nullptr ? object->find(key, *budget) : object->find(key.text().view());
    if (known != nullptr) {  // the last value wins, at the place of the first
      *const_cast<Value*>(known) = std::move(value);
      continue;
    }
    object->entries.emplace_back(std::move(key), std::move(value));
    const auto add = [&](size_t i) {
      const Value& name = object->entries[i].first;
      if (name.is(Kind::String)) object->index.emplace(name.text().view(), i);
    };
    if (object->entries.size() == kIndexedEntries) {
      for (size_t i = 0; i < kIndexedEntries; ++i) add(i);
    } else if (object->entries.size() > kIndexedEntries) {
      add(object->entries.size() - 1);
    }
  }
  return Value::object(Kind::Dict, std::move(object));
}

Value Value::object(Kind kind, std::shared_ptr<Object> object) {
  Value out(kind);
  out.object_ = std::move(object);
  return out;
}

Value Value::function(const Builtin* builtin) {
  Value out(Kind::Function);
  out.builtin_ = builtin;
  return out;
}

Value Value::wide_integer(double value, std::string digits) {
  Value out = string(Text(std::move(digits)));
  out.kind_ = Kind::Float;
  out.real_ = value;
  return out;
}

const std::string* Value::digits() const {
  if (kind_ != Kind::Float || object_ == nullptr) return nullptr;
  return &static_cast<const StringObject&>(*object_).text.bytes();
}

const Text& Value::text() const { return static_cast<const StringObject&>(*object_).text; }
const Sequence& Value::items() const { return static_cast<const Sequence&>(*object_); }
const Dict& Value::entries() const { return static_cast<const Dict&>(*object_); }
Namespace& Value::name_space() const { return static_cast<Namespace&>(*object_); }

std::string Value::undefined_message() const {
  if (object_ == nullptr) return "the value is undefined";
  return static_cast<const UndefinedObject&>(*object_).message;
}

const Value* Dict::find(std::string_view key) const {
  if (!index.empty()) {
    const auto at = index.find(key);
    return at == index.end() ? nullptr : &entries[at->second].second;
  }
  for (const auto& [name, value] : entries) {
    if (name.is(Kind::String) && name.text().view() == key) return &value;
  }
  return nullptr;
}

const Value* Dict::find(const Value& key, Budget& spent) const {
  if (key.is(Kind::String)) {
    spent.spend_bytes(key.text().size());
    return find(key.text().view());
  }
  for (const auto& [name, value] : entries) {
    if (equal(name, key, spent)) return &value;
  }
  return nullptr;
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::Absent:
    case Kind::Undefined:
      return "Undefined";
    case Kind::None:
      return "NoneType";
    case Kind::Bool:
      return "bool";
    case Kind::Int:
      return "int";
    case Kind::Float:
      return "float";
    case Kind::String:
      return "str";
    case Kind::List:
    case Kind::Tuple:
    case Kind::View:
    case Kind::Generator:
    case Kind::Cycler:
    case Kind::Joiner:
      return value.items().type;
    case Kind::Dict:
      return "dict";
    case Kind::Namespace:
      return "Namespace";
    case Kind::Macro:
      return "Macro";
    case Kind::Loop:
      return "LoopContext";
    case Kind::Method:
    case Kind::Function:
      return "function";
  }
  return "object";
}

}  // namespace tenon::jinja
