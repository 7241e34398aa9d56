// Filters on whole sequences: length, join, sort, group, ...
#include <algorithm>
#include <array>

#include "text/template/jinja_builtins.h"
#include "text/template/jinja_format.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_item_path.h"
#include "text/template/jinja_operators.h"
#include "text/template/jinja_text_tools.h"

namespace tenon::jinja {
namespace sequence_filters_table {
namespace {

using Args = std::span<const Value>;

bool given(const Value& value) { return !value.is(Kind::Absent) && !value.is(Kind::None); }

Value count(Interpreter&, const Value& self, Args) {
  return Value::integer(static_cast<int64_t>(length(self)));
}

Value first(Interpreter& jinja, const Value& self, Args) {
  std::vector<Value> all = iterate(self, jinja.budget());
  if (all.empty()) return Value::undefined("No first item, sequence was empty.");
  return all.front();
}

Value last(Interpreter& jinja, const Value& self, Args) {
  if (self.is(Kind::Generator)) raise("'generator' object is not reversible");
  std::vector<Value> all = iterate(self, jinja.budget());
  if (all.empty()) return Value::undefined("No last item, sequence was empty.");
  return all.back();
}

Value to_list(Interpreter& jinja, const Value& self, Args) {
  return jinja.list(iterate(self, jinja.budget()));
}

Value join(Interpreter& jinja, const Value& self, Args args) {
  const Text separator = args[0].is(Kind::Absent) ? Text() : to_text(args[0], jinja.budget());
  const ItemPath path(args[1]);
  Text out;
  bool is_first = true;
  for (const Value& item : iterate(self, jinja.budget())) {
    const Text text = to_text(path.of(jinja, item), jinja.budget());
    if (!is_first) out.append(separator);
    is_first = false;
    jinja.budget().check_size(out.size() + text.size() + separator.size());
    jinja.budget().spend_bytes(text.size() + separator.size());
    out.append(text);
  }
  return jinja.string(std::move(out));
}

Value reverse(Interpreter& jinja, const Value& self, Args) {
  std::vector<Value> all = iterate(self, jinja.budget());
  std::reverse(all.begin(), all.end());
  if (!self.is(Kind::String)) return jinja.list(std::move(all), Kind::Generator);
  Text out;
  for (const Value& character : all) out.append(character.text());
  return jinja.string(std::move(out));
}

Value folded(Interpreter& jinja, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is(Kind::String)) return value;
  return jinja.string(lower(value.text(), jinja.budget()));
}

struct Keyed {
  std::vector<Value> key;  // one key, or several compared like a list
  Value value;
};

/// Sorts like sorted(key=..., reverse=...): stable in both directions.
enum class Keys : uint8_t { One, List };
void sort_keyed(Interpreter& jinja, std::vector<Keyed>& all, Keys keys, bool reverse) {
  const auto less = [&jinja, keys](const Keyed& a, const Keyed& b) {
    Budget& budget = jinja.budget();
    if (keys == Keys::One) return order(a.key[0], b.key[0], budget) < 0;
    for (size_t i = 0; i < a.key.size(); ++i) {
      if (!equal(a.key[i], b.key[i], budget)) return order(a.key[i], b.key[i], budget) < 0;
    }
    return false;
  };
  if (reverse) std::reverse(all.begin(), all.end());
  std::stable_sort(all.begin(), all.end(), less);
  if (reverse) std::reverse(all.begin(), all.end());
}

Value sort(Interpreter& jinja, const Value& self, Args args) {
  const bool case_sensitive = truth(args[1]);
  const std::vector<ItemPath> paths = ItemPath::several(args[2]);
  std::vector<Keyed> all;
  for (Value& item : iterate(self, jinja.budget())) {
    Keyed keyed;
    for (const ItemPath& path : paths) {
      keyed.key.push_back(folded(jinja, path.of(jinja, item), case_sensitive));
    }
    keyed.value = std::move(item);
    all.push_back(std::move(keyed));
  }
  sort_keyed(jinja, all, Keys::List, truth(args[0]));
  std::vector<Value> out;
  out.reserve(all.size());
  for (Keyed& keyed : all) out.push_back(std::move(keyed.value));
  return jinja.list(std::move(out));
}

Value dictsort(Interpreter& jinja, const Value& self, Args args) {
  require_defined(self);
  if (!self.is(Kind::Dict)) raise("'{}' object has no attribute 'items'", type_name(self));
  const std::string by = args[1].is(Kind::Absent) ? "key" : text_of(args[1]).bytes();
  if (by != "key" && by != "value") raise("You can only sort by either \"key\" or \"value\"");
  std::vector<Keyed> all;
  jinja.budget().spend(self.entries().entries.size());
  for (const auto& [key, value] : self.entries().entries) {
    all.push_back({{folded(jinja, by == "key" ? key : value, truth(args[0]))},
                   jinja.list({key, value}, Kind::Tuple)});
  }
  sort_keyed(jinja, all, Keys::One, truth(args[2]));
  std::vector<Value> out;
  out.reserve(all.size());
  for (Keyed& keyed : all) out.push_back(std::move(keyed.value));
  return jinja.list(std::move(out));
}

Value items(Interpreter& jinja, const Value& self, Args) {
  if (self.is(Kind::Undefined)) return jinja.list({}, Kind::Generator);
  if (!self.is(Kind::Dict)) raise("Can only get item pairs from a mapping.");
  std::vector<Value> out;
  jinja.budget().spend(self.entries().entries.size());
  for (const auto& [key, value] : self.entries().entries) {
    out.push_back(jinja.list({key, value}, Kind::Tuple));
  }
  return jinja.list(std::move(out), Kind::Generator);
}

Value unique(Interpreter& jinja, const Value& self, Args args) {
  const bool case_sensitive = truth(args[0]);
  const ItemPath path(args[1]);
  std::vector<Value> out;
  std::vector<Value> keys;
  for (Value& item : iterate(self, jinja.budget())) {
    Value key = folded(jinja, path.of(jinja, item), case_sensitive);
    require_hashable(key, jinja.budget());
    const auto is_key = [&](const Value& known) { return equal(known, key, jinja.budget()); };
    if (std::any_of(keys.begin(), keys.end(), is_key)) continue;
    keys.push_back(std::move(key));
    out.push_back(std::move(item));
  }
  return jinja.list(std::move(out), Kind::Generator);
}

Value extreme(Interpreter& jinja, const Value& self, Args args, int wanted) {
  const ItemPath path(args[1]);
  const bool case_sensitive = truth(args[0]);
  Value best = Value::undefined("No aggregated item, sequence was empty.");
  Value best_key;
  bool any = false;
  for (Value& item : iterate(self, jinja.budget())) {
    Value key = folded(jinja, path.of(jinja, item), case_sensitive);
    const int relation =
        any ? order(key, best_key, jinja.budget(), wanted < 0 ? "<" : ">") : wanted;
    if ((relation < 0) == (wanted < 0) && relation != 0) {
      best = std::move(item);
      best_key = std::move(key);
    }
    any = true;
  }
  return best;
}
Value min(Interpreter& jinja, const Value& self, Args args) {
  return extreme(jinja, self, args, -1);
}
Value max(Interpreter& jinja, const Value& self, Args args) {
  return extreme(jinja, self, args, 1);
}

Value sum(Interpreter& jinja, const Value& self, Args args) {
  const ItemPath path(args[0]);
  Value total = args[1].is(Kind::Absent) ? Value::integer(0) : args[1];
  if (total.is(Kind::String)) raise("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : iterate(self, jinja.budget())) {
    total = binary(Op::Add, total, path.of(jinja, item), jinja.budget());
  }
  return total;
}

Value batch(Interpreter& jinja, const Value& self, Args args) {
  const int64_t size = integer_of(args[0]);
  if (size > (1 << 20)) raise("batches of {}", size);
  std::vector<Value> out;
  std::vector<Value> part;
  for (Value& item : iterate(self, jinja.budget())) {
    if (static_cast<int64_t>(part.size()) == size) {
      out.push_back(jinja.list(std::exchange(part, {})));
    }
    part.push_back(std::move(item));
  }
  if (!part.empty()) {
    const bool is_short = static_cast<int64_t>(part.size()) < size;
    if (given(args[1]) && is_short) part.resize(static_cast<size_t>(size), args[1]);
    out.push_back(jinja.list(std::move(part)));
  }
  return jinja.list(std::move(out), Kind::Generator);
}

Value columns(Interpreter& jinja, const Value& self, Args args) {
  const int64_t count = integer_of(args[0]);
  if (count > (1 << 20)) raise("{} slices", count);
  const std::vector<Value> all = iterate(self, jinja.budget());
  if (count == 0) raise("integer division or modulo by zero");
  if (count < 0) return jinja.list({}, Kind::Generator);
  const size_t num_slices = static_cast<size_t>(count);
  const size_t each = all.size() / num_slices;
  const size_t longer = all.size() % num_slices;
  std::vector<Value> out;
  size_t begin = 0;
  for (size_t i = 0; i < num_slices; ++i) {
    jinja.budget().spend();
    const size_t end = begin + each + (i < longer ? 1 : 0);
    std::vector<Value> part(all.begin() + static_cast<std::ptrdiff_t>(begin),
                            all.begin() + static_cast<std::ptrdiff_t>(end));
    if (given(args[1]) && i >= longer) part.push_back(args[1]);
    out.push_back(jinja.list(std::move(part)));
    begin = end;
  }
  return jinja.list(std::move(out), Kind::Generator);
}

Value groupby(Interpreter& jinja, const Value& self, Args args) {
  const ItemPath path(args[0], args[1]);
  const bool case_sensitive = truth(args[2]);
  std::vector<Keyed> all;
  for (Value& item : iterate(self, jinja.budget())) {
    Value key = folded(jinja, path.of(jinja, item), case_sensitive);
    all.push_back({{std::move(key)}, std::move(item)});
  }
  sort_keyed(jinja, all, Keys::One, false);
  std::vector<Value> out;
  for (size_t i = 0; i < all.size();) {
    std::vector<Value> members;
    const size_t begin = i;
    for (; i < all.size() && equal(all[i].key[0], all[begin].key[0], jinja.budget()); ++i) {
      members.push_back(all[i].value);
    }
    Value group =
        jinja.list({path.of(jinja, members[0]), jinja.list(std::move(members))}, Kind::Tuple);
    static_cast<Sequence&>(*group.pointer()).type = kGroupType;
    out.push_back(std::move(group));
  }
  return jinja.list(std::move(out));
}

Value otherwise(Interpreter& jinja, const Value& self, Args args) {
  if (!self.is(Kind::Undefined) && (!truth(args[1]) || truth(self))) return self;
  return args[0].is(Kind::Absent) ? jinja.string(Text()) : args[0];
}

Value attr(Interpreter& jinja, const Value& self, Args args) {
  // Methods and attributes only, never entries of a dict.
  if (self.is(Kind::Dict) && find_method(self, text_of(args[0]).view()) == nullptr) {
    return Value::undefined(
        fmt::format("'dict object' has no attribute '{}'", shown(text_of(args[0]).view())),
        &jinja.budget());
  }
  return jinja.attribute(self, text_of(args[0]).bytes());
}

constexpr std::array kFilters = {
    Builtin{"length", "", 0, count},
    Builtin{"count", "", 0, count},
    Builtin{"first", "", 0, first},
    Builtin{"last", "", 0, last},
    Builtin{"list", "", 0, to_list},
    Builtin{"join", "d,attribute", 0, join},
    Builtin{"reverse", "", 0, reverse},
    Builtin{"sort", "reverse,case_sensitive,attribute", 0, sort},
    Builtin{"dictsort", "case_sensitive,by,reverse", 0, dictsort},
    Builtin{"items", "", 0, items},
    Builtin{"unique", "case_sensitive,attribute", 0, unique},
    Builtin{"min", "case_sensitive,attribute", 0, min},
    Builtin{"max", "case_sensitive,attribute", 0, max},
    Builtin{"sum", "attribute,start", 0, sum},
    Builtin{"batch", "linecount,fill_with", 1, batch},
    Builtin{"slice", "slices,fill_with", 1, columns},
    Builtin{"groupby", "attribute,default,case_sensitive", 1, groupby},
    Builtin{"default", "default_value,boolean", 0, otherwise},
    Builtin{"d", "default_value,boolean", 0, otherwise},
    Builtin{"attr", "name", 1, attr},
};

}  // namespace
}  // namespace sequence_filters_table

std::span<const Builtin> sequence_filters() { return sequence_filters_table::kFilters; }

}  // namespace tenon::jinja
