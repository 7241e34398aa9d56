// Global functions of templates: those of Jinja2, and two of Hugging Face.
#include <array>

#include "text/template/jinja_builtins.h"
#include "text/template/jinja_format.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_operators.h"
#include "text/template/jinja_strftime.h"
#include "text/template/jinja_text_tools.h"

namespace tenon::jinja {
namespace {

using Args = std::span<const Value>;

// Limit of Jinja2's sandbox.
constexpr int64_t kMaxRange = 100'000;

Value range(Interpreter& jinja, const Value&, Args args) {
  int64_t begin = 0;
  int64_t end = integer_of(args[0]);
  if (!args[1].is(Kind::Absent)) begin = std::exchange(end, integer_of(args[1]));
  const int64_t step = args[2].is(Kind::Absent) ? 1 : integer_of(args[2]);
  if (step == 0) raise("range() arg 3 must not be zero");
  std::vector<Value> out;
  for (int64_t at = begin; step > 0 ? at < end : at > end;) {
    jinja.budget().spend();
    if (out.size() >= static_cast<size_t>(kMaxRange)) {
      raise("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kMaxRange);
    }
    out.push_back(Value::integer(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return range_of(std::move(out), {begin, end, step}, jinja.budget());
}

Value cycler(Interpreter& jinja, const Value&, Args args) {
  if (args.empty()) raise("at least one item has to be provided");
  return jinja.list({args.begin(), args.end()}, Kind::Cycler);
}

Value joiner(Interpreter& jinja, const Value&, Args args) {
  Value separator = args[0].is(Kind::Absent) ? jinja.string(std::string(", ")) : args[0];
  return jinja.list({std::move(separator)}, Kind::Joiner);
}

Value dict(Interpreter& jinja, const Value&, Args args) {
  std::vector<std::pair<Value, Value>> entries;
  if (args[0].is(Kind::Dict)) {
    entries = args[0].entries().entries;
  } else if (!args[0].is(Kind::Absent)) {
    require_defined(args[0]);
    for (const Value& pair : iterate(args[0], jinja.budget())) {
      std::vector<Value> parts = iterate(pair, jinja.budget());
      if (parts.size() != 2) raise("dictionary update sequence element has no length 2");
      require_hashable(parts[0], jinja.budget());
      entries.emplace_back(std::move(parts[0]), std::move(parts[1]));
    }
  }
  for (const auto& entry : args.back().entries().entries) entries.push_back(entry);
  jinja.budget().spend(entries.size());
  return Value::dict(std::move(entries), &jinja.budget());
}

Value new_namespace(Interpreter& jinja, const Value& self, Args args) {
  const Value entries = dict(jinja, self, args);
  std::vector<std::pair<std::string, Value>> attributes;
  for (const auto& [name, value] : entries.entries().entries) {
    if (name.is(Kind::String)) attributes.emplace_back(name.text().bytes(), value);
  }
  return make_namespace(jinja, std::move(attributes));
}

Value raise_exception(Interpreter& jinja, const Value&, Args args) {
  raise("{}", to_text(args[0], jinja.budget()).view());
}

Value strftime_now(Interpreter& jinja, const Value&, Args args) {
  return jinja.string(strftime_text(text_of(args[0]).view(), *jinja.now()));
}

constexpr std::array kGlobals = {
    Builtin{"range", "start,stop,step", 1, range},
    Builtin{"cycler", "*", 0, cycler},
    Builtin{"joiner", "sep", 0, joiner},
    Builtin{"dict", "mapping,**", 0, dict},
    Builtin{"namespace", "mapping,**", 0, new_namespace},
    Builtin{"raise_exception", "message", 1, raise_exception},
    Builtin{"strftime_now", "format", 1, strftime_now},
};

}  // namespace

std::span<const Builtin> globals() { return kGlobals; }

}  // namespace tenon::jinja
