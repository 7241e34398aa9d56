#include "text/template/jinja_builtins.h"

#include <algorithm>
#include <array>

#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_operators.h"

namespace tenon::jinja {
namespace {

const Builtin* find_in(std::span<const Builtin> table, std::string_view name) {
  for (const Builtin& builtin : table) {
    if (builtin.name == name) return &builtin;
  }
  return nullptr;
}

constexpr std::array<std::string_view, 8> kListChanges{"append", "clear",   "extend", "insert",
                                                       "pop",    "reverse", "remove", "sort"};
constexpr std::array<std::string_view, 5> kDictChanges{"clear", "pop", "popitem", "setdefault",
                                                       "update"};

}  // namespace

const Builtin* find_filter(std::string_view name) {
  for (const auto table :
       {text_filters(), number_filters(), sequence_filters(), selecting_filters()}) {
    if (const Builtin* found = find_in(table, name)) return found;
  }
  return nullptr;
}

const Builtin* find_test(std::string_view name) { return find_in(tests(), name); }
const Builtin* find_global(std::string_view name) { return find_in(globals(), name); }

const Builtin* find_method(const Value& self, std::string_view name) {
  switch (self.kind()) {
    case Kind::String: {
      const Builtin* found = find_in(str_methods(), name);
      return found != nullptr ? found : find_in(str_queries(), name);
    }
    case Kind::Dict:
      return find_in(dict_methods(), name);
    case Kind::List:
    case Kind::Tuple:
      if (name == "copy" && (self.is(Kind::Tuple) || self.items().is_range)) return nullptr;
      return find_in(sequence_methods(), name);
    case Kind::Loop:
      return find_in(loop_methods(), name);
    case Kind::Cycler:
      return find_in(cycler_methods(), name);
    default:
      return nullptr;
  }
}

bool is_changing_method(const Value& self, std::string_view name) {
  const auto has = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return (self.is(Kind::List) && !self.items().is_range && has(kListChanges)) ||
         (self.is(Kind::Dict) && has(kDictChanges));
}

std::vector<Value> bind(const Builtin& builtin, CallArguments given) {
  std::vector<std::string_view> names;
  std::string_view rest = builtin.parameters;
  bool takes_more = false;
  bool takes_named = false;
  size_t num_unnamed = 0;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view name = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (name == "*")
      takes_more = true;
    else if (name == "**")
      takes_named = true;
    else if (name == "/")
      num_unnamed = names.size();
    else
      names.push_back(name);
  }
  if (given.positional.size() > names.size() && !takes_more) {
    raise("{}() takes at most {} argument(s), {} given", builtin.name, names.size(),
          given.positional.size());
  }
  std::vector<Value> out = std::move(given.positional);
  const size_t num_positional = out.size();
  if (out.size() < names.size()) out.resize(names.size(), Value::absent());
  std::vector<std::pair<Value, Value>> unknown;
  for (auto& [name, value] : given.named) {
    const auto known =
        std::find(names.begin() + static_cast<std::ptrdiff_t>(num_unnamed), names.end(), name);
    if (known == names.end()) {
      if (!takes_named) raise("{}() got an unexpected keyword argument '{}'", builtin.name, name);
      unknown.emplace_back(Value::string(Text(name)), std::move(value));
      continue;
    }
    const auto place = static_cast<size_t>(known - names.begin());
    if (place < num_positional) {
      raise("{}() got multiple values for argument '{}'", builtin.name, name);
    }
    out[place] = std::move(value);
  }
  for (size_t i = 0; i < builtin.required; ++i) {
    if (out[i].is(Kind::Absent)) {
      raise("{}() missing a required argument: '{}'", builtin.name, names[i]);
    }
  }
  if (takes_named) out.push_back(Value::dict(std::move(unknown)));
  return out;
}

Value run_builtin(Interpreter& jinja, const Builtin& builtin, const Value& self,
                  CallArguments given) {
  Budget& budget = jinja.budget();
  budget.spend(given.positional.size() + given.named.size());
  const std::vector<Value> arguments = bind(builtin, std::move(given));
  if (self.is(Kind::String)) budget.spend_bytes(self.text().size());
  for (const Value& argument : arguments) {
    if (argument.is(Kind::String)) budget.spend_bytes(argument.text().size());
  }
  return builtin.run(jinja, self, arguments);
}

}  // namespace tenon::jinja
