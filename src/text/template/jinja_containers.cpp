// Methods of dicts, lists, tuples and `loop`.
#include <algorithm>
#include <array>

#include "text/template/jinja_builtins.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_operators.h"

namespace tenon::jinja {
namespace {

using Args = std::span<const Value>;
using Entries = std::vector<std::pair<Value, Value>>;

Value view(Interpreter& jinja, std::vector<Value> values, std::string_view type) {
  Value out = jinja.list(std::move(values), Kind::View);
  static_cast<Sequence&>(*out.pointer()).type = type;
  return out;
}

Value items(Interpreter& jinja, const Value& self, Args) {
  std::vector<Value> out;
  jinja.budget().spend(self.entries().entries.size());
  for (const auto& [key, value] : self.entries().entries) {
    out.push_back(jinja.list({key, value}, Kind::Tuple));
  }
  return view(jinja, std::move(out), "dict_items");
}

Value keys(Interpreter& jinja, const Value& self, Args) {
  return view(jinja, iterate(self, jinja.budget()), "dict_keys");
}

Value values(Interpreter& jinja, const Value& self, Args) {
  std::vector<Value> out;
  jinja.budget().spend(self.entries().entries.size());
  for (const auto& entry : self.entries().entries) out.push_back(entry.second);
  return view(jinja, std::move(out), "dict_values");
}

Value get(Interpreter& jinja, const Value& self, Args args) {
  require_hashable(args[0], jinja.budget());
  const Value* found = self.entries().find(args[0], jinja.budget());
  if (found != nullptr) return *found;
  return args[1].is(Kind::Absent) ? Value::none() : args[1];
}

Value copy(Interpreter&, const Value& self, Args) { return self; }

Value count(Interpreter& jinja, const Value& self, Args args) {
  int64_t times = 0;
  for (const Value& item : self.items().values) {
    times += equal(item, args[0], jinja.budget()) ? 1 : 0;
  }
  return Value::integer(times);
}

Value index(Interpreter& jinja, const Value& self, Args args) {
  const std::vector<Value>& all = self.items().values;
  for (size_t i = 0; i < all.size(); ++i) {
    if (equal(all[i], args[0], jinja.budget())) return Value::integer(static_cast<int64_t>(i));
  }
  raise("the value is not in the {}", type_name(self));
}

Value cycle(Interpreter&, const Value& self, Args args) {
  if (args.empty()) raise("no items for cycling given");
  const auto& loop = static_cast<const LoopObject&>(*self.pointer());
  return args[loop.at % args.size()];
}

Value changed(Interpreter& jinja, const Value& self, Args args) {
  auto& loop = static_cast<LoopObject&>(*self.pointer());
  std::vector<Value> now(args.begin(), args.end());
  const auto alike = [&jinja](const Value& a, const Value& b) {
    return equal(a, b, jinja.budget());
  };
  const bool same = loop.changed && std::equal(now.begin(), now.end(), loop.changed->begin(),
                                               loop.changed->end(), alike);
  if (!same) loop.changed = std::move(now);
  return Value::boolean(!same);
}

Value next(Interpreter&, const Value& self, Args) {
  const Sequence& cycler = self.items();
  return cycler.values[std::exchange(cycler.at, (cycler.at + 1) % cycler.values.size())];
}
Value reset(Interpreter&, const Value& self, Args) {
  self.items().at = 0;
  return Value::none();
}

constexpr std::array kDictMethods = {
    Builtin{"items", "", 0, items},   Builtin{"keys", "", 0, keys},
    Builtin{"values", "", 0, values}, Builtin{"get", "key,default,/", 1, get},
    Builtin{"copy", "", 0, copy},
};
constexpr std::array kSequenceMethods = {
    Builtin{"count", "value,/", 1, count},
    Builtin{"index", "value,/", 1, index},
    Builtin{"copy", "", 0, copy},
};
constexpr std::array kLoopMethods = {
    Builtin{"cycle", "*", 0, cycle},
    Builtin{"changed", "*", 0, changed},
};
constexpr std::array kCyclerMethods = {
    Builtin{"next", "", 0, next},
    Builtin{"reset", "", 0, reset},
};

}  // namespace

std::span<const Builtin> dict_methods() { return kDictMethods; }
std::span<const Builtin> sequence_methods() { return kSequenceMethods; }
std::span<const Builtin> loop_methods() { return kLoopMethods; }
std::span<const Builtin> cycler_methods() { return kCyclerMethods; }

}  // namespace tenon::jinja
