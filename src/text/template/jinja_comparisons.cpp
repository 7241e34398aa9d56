// Equality, order and containment of values.
#include <algorithm>

#include "text/template/jinja_operators.h"
#include "text/template/jinja_text_tools.h"

namespace tenon::jinja {
namespace {

bool equal_texts(std::string_view a, std::string_view b, Budget& budget) {
  if (a.size() != b.size()) return false;
  budget.spend_bytes(a.size());
  return a == b;
}

bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b, Budget& budget) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&budget](const Value& x, const Value& y) { return equal(x, y, budget); });
}

bool equal_dicts(const Dict& a, const Dict& b, Budget& budget) {
  return a.entries.size() == b.entries.size() &&
         std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
           const Value* other = b.find(entry.first, budget);
           return other != nullptr && equal(entry.second, *other, budget);
         });
}

template <typename T>
int sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

void require_hashable(const Value& value, Budget& budget) {
  const bool is_list = (value.is(Kind::List) && !is_range(value)) || value.is(Kind::View);
  if (is_list || value.is(Kind::Dict)) raise("unhashable type: '{}'", type_name(value));
  if (!value.is(Kind::Tuple)) return;
  budget.spend();
  for (const Value& item : value.items().values) require_hashable(item, budget);
}

bool equal(const Value& a, const Value& b, Budget& budget) {
  budget.spend();
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.as_integer() == b.as_integer();
    return a.as_real() == b.as_real();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::String:
      return equal_texts(a.text().view(), b.text().view(), budget);
    case Kind::List:
    case Kind::Tuple:
    case Kind::View:
      if (is_range(a) != is_range(b)) return false;
      return a.pointer() == b.pointer() || equal_items(a.items().values, b.items().values, budget);
    case Kind::Dict:
      return a.pointer() == b.pointer() || equal_dicts(a.entries(), b.entries(), budget);
    case Kind::Undefined:
    case Kind::None:
      return true;
    case Kind::Function:
      return &a.builtin() == &b.builtin();
    default:
      return a.pointer() == b.pointer();
  }
}

int order(const Value& a, const Value& b, Budget& budget, std::string_view op) {
  budget.spend();
  require_defined(a);
  require_defined(b);
  if (a.is_integral() && b.is_integral()) return sign(a.as_integer(), b.as_integer());
  if (a.is_number() && b.is_number()) return sign(a.as_real(), b.as_real());
  if (a.is(Kind::String) && b.is(Kind::String)) {
    budget.spend_bytes(std::min(a.text().size(), b.text().size()));
    return a.text().view().compare(b.text().view());
  }
  if (a.kind() == b.kind() && is_joinable(a) && is_joinable(b)) {
    const std::vector<Value>& left = a.items().values;
    const std::vector<Value>& right = b.items().values;
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (!equal(left[i], right[i], budget)) return order(left[i], right[i], budget, op);
    }
    return sign(left.size(), right.size());
  }
  raise("'{}' not supported between instances of '{}' and '{}'", op, type_name(a), type_name(b));
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  switch (container.kind()) {
    case Kind::Undefined:
      return false;
    case Kind::String:
      if (!item.is(Kind::String)) {
        raise("'in <string>' requires string as left operand, not {}", type_name(item));
      }
      return find_text(container.text().view(), item.text().view(), 0, budget) !=
             std::string_view::npos;
    case Kind::Dict:
      require_hashable(item, budget);
      return container.entries().find(item, budget) != nullptr;
    case Kind::List:
    case Kind::Tuple:
    case Kind::View:
    case Kind::Generator:
      if (type_name(container) == "dict_keys") require_hashable(item, budget);
      for (const Value& value : iterate(container, budget)) {
        if (equal(value, item, budget)) return true;
      }
      return false;
    default:
      raise("argument of type '{}' is not iterable", type_name(container));
  }
}

}  // namespace tenon::jinja
