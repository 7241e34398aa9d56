#include "text/grammar/schema_dnf.h"

#include <algorithm>

namespace tenon::grammar {
namespace {

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

using Bound = std::optional<NumberShape::Bound>;

/// Stricter of two bounds. sign: 1 for lower bounds, -1 for upper bounds.
Bound stricter(const Bound& a, const Bound& b, int sign) {
  if (!a || !b) return a ? a : b;
  const int order = sign * compare(a->value, b->value);
  if (order != 0) return order > 0 ? a : b;
  return a->exclusive ? a : b;
}

bool meet_numbers(NumberShape& a, const NumberShape& b) {
  a.lower = stricter(a.lower, b.lower, 1);
  a.upper = stricter(a.upper, b.upper, -1);
  a.integer |= b.integer;
  a.not_integer |= b.not_integer;
  append(a.multiples, b.multiples);
  append(a.not_multiples, b.not_multiples);
  if (a.spelled.empty()) a.spelled = b.spelled;
  if (a.integer && a.not_integer) return false;
  if (!a.lower || !a.upper) return true;
  const int order = compare(a.lower->value, a.upper->value);
  return order < 0 || (order == 0 && !a.lower->exclusive && !a.upper->exclusive);
}

bool meet_strings(StringShape& a, const StringShape& b, Budget& budget) {
  if (a.lark != nullptr || b.lark != nullptr) {
    const auto is_any = [](const StringShape& shape) {
      return !shape.texts && shape.lark == nullptr && shape.minimum == 0 &&
             shape.maximum == UINT64_MAX;
    };
    if (is_any(b) || a.lark == b.lark) return true;
    if (!is_any(a)) {
      budget.refuse(
          "x-lark with rules that recur or are large is not supported beside other constraints");
    }
    a = b;
    return true;
  }
  a.minimum = std::max(a.minimum, b.minimum);
  a.maximum = std::min(a.maximum, b.maximum);
  if (a.minimum > a.maximum) return false;
  if (!b.texts || a.texts == b.texts) return true;
  if (!a.texts) {
    a.texts = b.texts;
  } else {
    a.texts = std::make_shared<const Dfa>(both(*a.texts, *b.texts, budget));
  }
  return !a.texts->empty();
}

bool meet_arrays(ArrayShape& a, const ArrayShape& b) {
  const size_t prefix = std::max(a.prefix.size(), b.prefix.size());
  std::vector<Conjunction> elements;
  for (size_t i = 0; i < prefix; ++i) elements.push_back(meet(a.element(i), b.element(i)));
  a.prefix = std::move(elements);
  a.items = meet(a.items, b.items);
  a.minimum = std::max(a.minimum, b.minimum);
  a.maximum = std::min(a.maximum, b.maximum);
  append(a.contains, b.contains);
  a.unique |= b.unique;
  a.evaluated = std::max(a.evaluated, b.evaluated);
  return a.minimum <= a.maximum;
}

bool meet_objects(ObjectShape& a, const ObjectShape& b) {
  append(a.clauses, b.clauses);
  const std::set<std::string_view> known(a.order.begin(), a.order.end());
  std::vector<std::string> more;
  for (const std::string& name : b.order) {
    if (!known.contains(name)) more.push_back(name);
  }
  append(a.order, more);
  a.required.insert(b.required.begin(), b.required.end());
  for (const auto& [name, needed] : b.needs) a.needs[name].insert(needed.begin(), needed.end());
  append(a.names, b.names);
  a.minimum = std::max({a.minimum, b.minimum, uint64_t{a.required.size()}});
  a.maximum = std::min(a.maximum, b.maximum);
  return a.minimum <= a.maximum;
}

/// Budget steps for copying a shape.
uint64_t copying_steps(const Shape& shape) {
  const ObjectShape& object = shape.object;
  uint64_t entries = object.required.size() + object.order.size() + object.names.size() +
                     object.needs.size() + shape.array.contains.size() +
                     shape.number.multiples.size() + shape.number.not_multiples.size();
  for (const Conjunction& element : shape.array.prefix) entries += 1 + element.size() / 8;
  for (const auto& [name, needed] : object.needs) entries += needed.size();
  for (const ObjectShape::Clause& clause : object.clauses) {
    entries += 3 + clause.named.size() + clause.patterns.size();
  }
  return 3 * entries;
}

}  // namespace

Conjunction meet(const Conjunction& a, const Conjunction& b) {
  Conjunction result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

std::set<std::string> with_needed(std::set<std::string> names, const ObjectShape& shape,
                                  Budget& budget) {
  std::vector<std::string> open(names.begin(), names.end());
  while (!open.empty()) {
    const auto needs = shape.needs.find(open.back());
    open.pop_back();
    if (needs == shape.needs.end()) continue;
    for (const std::string& name : needs->second) {
      budget.spend(10);
      if (names.insert(name).second) open.push_back(name);
    }
  }
  return names;
}

std::optional<Shape> meet(const Shape& a, const Shape& b, JsonType type, Budget& budget) {
  budget.spend(20 + copying_steps(a) + copying_steps(b));
  Shape result = a;
  bool possible = true;
  switch (type) {
    case JsonType::Null:
      break;
    case JsonType::Boolean:
      result.may_be_true &= b.may_be_true;
      result.may_be_false &= b.may_be_false;
      possible = result.may_be_true || result.may_be_false;
      break;
    case JsonType::Number:
      possible = meet_numbers(result.number, b.number);
      break;
    case JsonType::String:
      possible = meet_strings(result.string, b.string, budget);
      break;
    case JsonType::Array:
      possible = meet_arrays(result.array, b.array);
      break;
    case JsonType::Object:
      possible = meet_objects(result.object, b.object);
      break;
  }
  if (!possible) return std::nullopt;
  return result;
}

}  // namespace tenon::grammar
