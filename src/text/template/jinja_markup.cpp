#include "text/template/jinja_markup.h"

#include <algorithm>
#include <array>

#include "text/template/jinja_format.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_printf.h"
#include "text/template/jinja_text_tools.h"

namespace tenon::jinja {
namespace {

constexpr std::array<std::string_view, 10> kMarkupFilters{
    "upper",  "lower",  "capitalize", "trim",     "center",
    "indent", "string", "reverse",    "truncate", "last"};
/// Methods whose arguments do not enter the text.
constexpr std::array<std::string_view, 10> kCutting{
    "split", "rsplit", "splitlines", "partition",    "rpartition",
    "strip", "lstrip", "rstrip",     "removeprefix", "removesuffix"};

template <typename Names>
bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Marks a string, or the strings in a list or tuple, as markup.
Value as_markup(const Value& value, Budget& budget) {
  budget.spend();
  if (value.is(Kind::String)) return Value::markup(value.text(), &budget);
  if (!value.is(Kind::List) && !value.is(Kind::Tuple)) return value;
  std::vector<Value> items;
  for (const Value& item : value.items().values) items.push_back(as_markup(item, budget));
  return Value::sequence(value.kind(), std::move(items), &budget);
}

/// Escapes a string, or the strings in a tuple, list or dict, unless they are markup; keeps other
/// values.
Value escaped_strings(const Value& value, Budget& budget) {
  budget.spend();
  if (value.is(Kind::String)) return Value::markup(markup_text(value, budget), &budget);
  if (value.is(Kind::List) || value.is(Kind::Tuple)) {
    std::vector<Value> items;
    for (const Value& item : value.items().values) items.push_back(escaped_strings(item, budget));
    return Value::sequence(value.kind(), std::move(items), &budget);
  }
  if (!value.is(Kind::Dict)) return value;
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [name, held] : value.entries().entries) {
    entries.emplace_back(name, escaped_strings(held, budget));
  }
  return Value::dict(std::move(entries), &budget);
}

}  // namespace

Text escaped(const Text& from, Budget& budget) {
  constexpr std::array<std::pair<const char*, const char*>, 5> kEntities{
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {"\"", "&#34;"}}};
  Text text = from;
  for (const auto& [character, entity] : kEntities) {
    text = replaced(text, Text(character), Text(entity), -1, budget);
  }
  return text;
}

Text markup_text(const Value& value, Budget& budget) {
  Text text = to_text(value, budget);
  return value.is_markup() ? text : escaped(text, budget);
}

Value like(const Value& from, Text text, Budget& budget) {
  return from.is_markup() ? Value::markup(std::move(text), &budget)
                          : Value::string(std::move(text), &budget);
}

Value joined(const Value& a, const Value& b, Budget& budget) {
  const bool markup = a.is_markup() || b.is_markup();
  Text out = markup ? markup_text(a, budget) : a.text();
  const Text more = markup ? markup_text(b, budget) : b.text();
  budget.check_size(out.size() + more.size());
  budget.spend_bytes(out.size() + more.size());
  out.append(more);
  return like(a.is_markup() ? a : b, std::move(out), budget);
}

Value formatted(const Value& format, const Value& values, Budget& budget) {
  const Value& safe = format.is_markup() ? escaped_strings(values, budget) : values;
  return like(format, printf_text(format.text(), safe, budget), budget);
}

Value run_filter(Interpreter& jinja, const Builtin& filter, const Value& self,
                 CallArguments given) {
  Value result = run_builtin(jinja, filter, self, std::move(given));
  const bool keeps = self.is_markup() && has(kMarkupFilters, filter.name);
  return keeps ? as_markup(result, jinja.budget()) : result;
}

Value run_method(Interpreter& jinja, const Builtin& method, const Value& self,
                 CallArguments given) {
  if (!self.is_markup()) return run_builtin(jinja, method, self, std::move(given));
  Budget& budget = jinja.budget();
  const bool changes = std::any_of(str_methods().begin(), str_methods().end(),
                                   [&](const Builtin& known) { return &known == &method; });
  if (changes && !has(kCutting, method.name)) {
    for (Value& value : given.positional) value = escaped_strings(value, budget);
    for (auto& [name, value] : given.named) value = escaped_strings(value, budget);
  }
  const Value result = run_builtin(jinja, method, self, std::move(given));
  return changes ? as_markup(result, budget) : result;
}

}  // namespace tenon::jinja
