// Filters that visit items one by one: map, select, reject and others; paths into items.
#include <algorithm>
#include <array>
#include <charconv>

#include "text/template/jinja_builtins.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_item_path.h"
#include "text/template/jinja_operators.h"
#include "text/template/jinja_text_tools.h"

namespace tenon::jinja {
namespace selecting_filters_table {
namespace {

using Args = std::span<const Value>;

constexpr size_t kMaxParts = 100;  // limit of a path's parts, and of a filter's paths

/// Arguments of a native function with "*,**", from index `from` on, to pass on.
CallArguments passed_on(Args args, size_t from) {
  CallArguments out;
  for (size_t i = from; i + 1 < args.size(); ++i) out.positional.push_back(args[i]);
  for (const auto& [name, value] : args.back().entries().entries) {
    out.named.emplace_back(name.text().bytes(), value);
  }
  return out;
}

Value map(Interpreter& jinja, const Value& self, Args args) {
  std::vector<Value> out;
  if (!truth(self)) return jinja.list({}, Kind::Generator);  // None and 0, too
  CallArguments given = passed_on(args, 0);
  if (given.positional.empty()) {
    Value attribute = Value::absent();
    Value otherwise = Value::absent();
    for (const auto& [name, value] : given.named) {
      if (name == "attribute")
        attribute = value;
      else if (name == "default")
        otherwise = value;
      else
        raise("Unexpected keyword argument '{}'", name);
    }
    if (attribute.is(Kind::Absent)) raise("map requires a filter argument");
    const ItemPath path(attribute, otherwise);
    for (Value& item : iterate(self, jinja.budget())) {
      out.push_back(path.of(jinja, std::move(item)));
    }
    return jinja.list(std::move(out), Kind::Generator);
  }
  const std::string name = text_of(given.positional[0]).bytes();
  given.positional.erase(given.positional.begin());
  for (const Value& item : iterate(self, jinja.budget())) {
    out.push_back(jinja.filter(name, item, given));
  }
  return jinja.list(std::move(out), Kind::Generator);
}

Value chosen(Interpreter& jinja, const Value& self, Args args, bool by_attribute, bool wanted) {
  if (!truth(self)) return jinja.list({}, Kind::Generator);  // None and 0, too
  CallArguments given = passed_on(args, 0);
  const auto take = [&given] {
    Value value = given.positional[0];
    given.positional.erase(given.positional.begin());
    return value;
  };
  if (by_attribute && given.positional.empty()) raise("Missing parameter for attribute name");
  const ItemPath path(by_attribute ? take() : Value::absent());
  std::string test;
  if (!given.positional.empty()) test = text_of(take()).bytes();
  std::vector<Value> out;
  for (Value& item : iterate(self, jinja.budget())) {
    jinja.budget().spend();
    const Value value = path.of(jinja, item);
    const bool holds = test.empty() ? truth(value) : jinja.test(test, value, given);
    if (holds == wanted) out.push_back(std::move(item));
  }
  return jinja.list(std::move(out), Kind::Generator);
}

Value select(Interpreter& jinja, const Value& self, Args args) {
  return chosen(jinja, self, args, false, true);
}
Value reject(Interpreter& jinja, const Value& self, Args args) {
  return chosen(jinja, self, args, false, false);
}
Value selectattr(Interpreter& jinja, const Value& self, Args args) {
  return chosen(jinja, self, args, true, true);
}
Value rejectattr(Interpreter& jinja, const Value& self, Args args) {
  return chosen(jinja, self, args, true, false);
}

constexpr std::array kFilters = {
    Builtin{"map", "*,**", 0, map},
    Builtin{"select", "*,**", 0, select},
    Builtin{"reject", "*,**", 0, reject},
    Builtin{"selectattr", "*,**", 0, selectattr},
    Builtin{"rejectattr", "*,**", 0, rejectattr},
};

}  // namespace
}  // namespace selecting_filters_table

ItemPath::ItemPath(const Value& attribute, Value otherwise) : otherwise_(std::move(otherwise)) {
  if (attribute.is(Kind::Absent) || attribute.is(Kind::None)) return;
  if (!attribute.is(Kind::String)) {
    parts_.push_back(attribute);
    return;
  }
  std::string_view rest = attribute.text().view();
  for (;;) {
    if (parts_.size() >= selecting_filters_table::kMaxParts)
      raise("a path of more than {} names", selecting_filters_table::kMaxParts);
    const size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    int64_t place = 0;
    const auto end = std::from_chars(part.data(), part.data() + part.size(), place);
    const bool is_place = !part.empty() && part[0] != '-' && end.ec == std::errc() &&
                          end.ptr == part.data() + part.size();
    parts_.push_back(is_place ? Value::integer(place) : Value::string(Text(std::string(part))));
    if (dot == rest.size()) break;
    rest.remove_prefix(dot + 1);
  }
}

std::vector<ItemPath> ItemPath::several(const Value& attribute) {
  std::vector<ItemPath> paths;
  if (!attribute.is(Kind::String)) {
    paths.emplace_back(attribute);
    return paths;
  }
  std::string_view rest = attribute.text().view();
  for (;;) {
    if (paths.size() >= selecting_filters_table::kMaxParts)
      raise("more than {} attributes", selecting_filters_table::kMaxParts);
    const size_t comma = std::min(rest.find(','), rest.size());
    paths.emplace_back(Value::string(Text(std::string(rest.substr(0, comma)))));
    if (comma == rest.size()) return paths;
    rest.remove_prefix(comma + 1);
  }
}

Value ItemPath::of(Interpreter& jinja, Value item) const {
  for (const Value& part : parts_) {
    jinja.budget().spend();
    item = jinja.item(item, part);
    if (item.is(Kind::Undefined) && !otherwise_.is(Kind::Absent)) item = otherwise_;
  }
  return item;
}

std::span<const Builtin> selecting_filters() { return selecting_filters_table::kFilters; }

}  // namespace tenon::jinja
