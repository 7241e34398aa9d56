#include "text/chat/bare_json.h"

#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "text/chat/answer_grammar.h"
#include "text/chat/free_text.h"
#include "text/chat/parameter_order.h"

namespace tenon {
namespace {

using jinja::Kind;
using jinja::Value;

// Maximum items of a list; they are unrolled to count them.
constexpr int64_t kMostItems = 256;

void check_key(std::string_view key) {
  if (key.empty() || key.find_first_of("{}[],:\"<> \n\r\t") != key.npos) {
    fail(Code::Argument, "conversation: a tool has a parameter with the name {}", quoted(key));
  }
}

std::optional<int64_t> count_at(const Value& schema, std::string_view key) {
  const Value* count = member_of(schema, key);
  if (count == nullptr || !count->is(Kind::Int)) return std::nullopt;
  if (count->as_integer() < 0 || count->as_integer() > kMostItems) {
    fail(Code::Grammar, "{} is {}, not one of 0 to {} as this family's lists need it", key,
         count->as_integer(), kMostItems);
  }
  return count->as_integer();
}

/// Schema restricted to one type.
std::string with_type(const Value& schema, std::string_view type) {
  std::vector<std::pair<Value, Value>> entries = schema.entries().entries;
  std::erase_if(entries, [](const auto& entry) { return text_of(&entry.first) == "type"; });
  entries.emplace_back(Value::string(jinja::Text("type")),
                       Value::string(jinja::Text(std::string(type))));
  return json_of(Value::dict(std::move(entries)));
}

}  // namespace

uint32_t BareJson::members(uint32_t from, const Value& given) {
  const Value& schema = resolved_schema(given, whole_);
  const Value* properties = member_of(schema, "properties");
  const Value* others = member_of(schema, "additionalProperties");
  const bool open = others == nullptr || !others->is(Kind::Bool) || others->as_integer() != 0;
  const bool named =
      properties != nullptr && properties->is(Kind::Dict) && !properties->entries().entries.empty();
  if (!named && open && &schema != &whole_) return any_members(from);
  return add_parameters(nfa_, from, schema, ",",
                        [this](uint32_t at, std::string_view key, const Value& value) {
                          check_key(key);
                          const uint32_t after = nfa_.add_node();
                          at = nfa_.add_text(nfa_.add_text(at, key), ":");
                          nfa_.add_call(at, rule_of(value), after);
                          return after;
                        });
}

uint32_t BareJson::rule_of(const Value& given) {
  const Value& schema = resolved_schema(given, whole_);
  const auto known = rules_.find(&schema);
  if (known != rules_.end()) return known->second;
  const uint32_t rule = nfa_.add_rule("a value");
  rules_.emplace(&schema, rule);
  write(schema, nfa_.rule(rule).start, nfa_.rule(rule).final);
  return rule;
}

void BareJson::write(const Value& schema, uint32_t from, uint32_t to) {
  if (const Value* choices = member_of(schema, "enum"); choices && choices->is(Kind::List)) {
    for (const Value& choice : choices->items().values) write_choice(choice, from, to);
    return;
  }
  if (const Value* only = member_of(schema, "const")) return write_choice(*only, from, to);
  for (const std::string_view key : {"anyOf", "oneOf"}) {
    const Value* schemas = member_of(schema, key);
    if (schemas == nullptr || !schemas->is(Kind::List)) continue;
    for (const Value& one : schemas->items().values) nfa_.add_call(from, rule_of(one), to);
    return;
  }
  const JsonKinds kinds = kinds_.of(schema);
  if (kinds == kAnyKind) return nfa_.add_call(from, any_rule(), to);
  constexpr std::array<std::pair<JsonKinds, std::string_view>, 2> kScalars{
      {{kBooleanKind, "boolean"}, {kNullKind, "null"}}};
  for (const auto& [kind, type] : kScalars) {
    if ((kinds & kind) != 0) nfa_.add_call(from, scalar_(with_type(schema, type)), to);
  }
  if ((kinds & kIntegerKind) != 0) {
    const bool whole_only = (kinds & kFractionKind) == 0;
    nfa_.add_call(from, scalar_(with_type(schema, whole_only ? "integer" : "number")), to);
  }
  if ((kinds & kStringKind) != 0) write_string(from, to);
  if ((kinds & kListKind) != 0) write_list(schema, from, to);
  if ((kinds & kObjectKind) != 0) {
    nfa_.add_epsilon(nfa_.add_text(members(nfa_.add_text(from, "{"), schema), "}"), to);
  }
}

void BareJson::write_choice(const Value& choice, uint32_t from, uint32_t to) {
  if (choice.is(Kind::List) || choice.is(Kind::Dict)) {
    fail(Code::Grammar, "a choice is a list or an object, which this family writes otherwise");
  }
  if (!choice.is(Kind::String)) return nfa_.add_epsilon(nfa_.add_text(from, json_of(choice)), to);
  from = nfa_.add_text(nfa_.add_text(from, quote_), text_of(&choice));
  nfa_.add_epsilon(nfa_.add_text(from, quote_), to);
}

void BareJson::write_string(uint32_t from, uint32_t to) {
  const std::array stops{FreeTextStop{quote_, to}};
  add_free_text(nfa_, nfa_.add_text(from, quote_), stops, highest_);
}

void BareJson::write_list(const Value& schema, uint32_t from, uint32_t to) {
  const Value* items = member_of(schema, "items");
  const uint32_t item = items != nullptr ? rule_of(*items) : any_rule();
  const int64_t least = count_at(schema, "minItems").value_or(0);
  const std::optional<int64_t> most = count_at(schema, "maxItems");
  uint32_t at = nfa_.add_text(from, "[");
  const uint32_t end = nfa_.add_node();
  if (least == 0) nfa_.add_epsilon(at, end);
  const int64_t written = most ? *most : std::max<int64_t>(least, 1);
  for (int64_t i = 0; i < written; ++i) {
    if (i > 0) at = nfa_.add_text(at, ",");
    const uint32_t after = nfa_.add_node();
    nfa_.add_call(at, item, after);
    at = after;
    if (i + 1 >= least) nfa_.add_epsilon(at, end);
  }
  if (!most) nfa_.add_call(nfa_.add_text(at, ","), item, at);
  nfa_.add_epsilon(nfa_.add_text(end, "]"), to);
}

uint32_t BareJson::any_members(uint32_t from) {
  const uint32_t end = nfa_.add_node(), key = nfa_.add_node(), name = nfa_.add_node(),
                 after = nfa_.add_node();
  nfa_.add_epsilon(from, end);
  nfa_.add_epsilon(from, key);
  constexpr std::array<std::pair<char, char>, 3> kLetters{{{'a', 'z'}, {'A', 'Z'}, {'_', '_'}}};
  for (const auto& [low, high] : kLetters) {
    for (const uint32_t at : {key, name}) {
      nfa_.add_bytes(at, static_cast<uint8_t>(low), static_cast<uint8_t>(high), name);
    }
  }
  nfa_.add_bytes(name, '0', '9', name);
  nfa_.add_call(nfa_.add_text(name, ":"), any_rule(), after);
  nfa_.add_epsilon(nfa_.add_text(after, ","), key);
  nfa_.add_epsilon(after, end);
  return end;
}

uint32_t BareJson::any_rule() {
  if (any_) return *any_;
  any_ = nfa_.add_rule("any value");
  const uint32_t from = nfa_.rule(*any_).start, to = nfa_.rule(*any_).final;
  nfa_.add_call(from, scalar_(R"({"type": ["number", "boolean", "null"]})"), to);
  write_string(from, to);
  const Value nothing = Value::dict({});
  write_list(nothing, from, to);
  nfa_.add_epsilon(nfa_.add_text(any_members(nfa_.add_text(from, "{")), "}"), to);
  return *any_;
}

}  // namespace tenon
