// Tests: the names allowed after "is".
#include <algorithm>
#include <array>

#include "text/template/jinja_builtins.h"
#include "text/template/jinja_format.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_operators.h"
#include "text/template/jinja_text_tools.h"

namespace tenon::jinja {
namespace {

using Args = std::span<const Value>;

template <Kind... kKinds>
Value is_of_kind(Interpreter&, const Value& self, Args) {
  return Value::boolean((self.is(kKinds) || ...));
}

Value defined(Interpreter&, const Value& self, Args) {
  return Value::boolean(!self.is(Kind::Undefined));
}
Value number(Interpreter&, const Value& self, Args) { return Value::boolean(self.is_number()); }
Value is_true(Interpreter&, const Value& self, Args) {
  return Value::boolean(self.is(Kind::Bool) && truth(self));
}
Value is_false(Interpreter&, const Value& self, Args) {
  return Value::boolean(self.is(Kind::Bool) && !truth(self));
}
Value is_escaped(Interpreter&, const Value& self, Args) { return Value::boolean(self.is_markup()); }

Value iterable(Interpreter&, const Value& self, Args) {
  return Value::boolean(self.is_sequence() || self.is(Kind::String) || self.is(Kind::Dict) ||
                        self.is(Kind::Undefined) || self.is(Kind::Loop));
}
Value sequence(Interpreter&, const Value& self, Args) {
  return Value::boolean(self.is(Kind::List) || self.is(Kind::Tuple) || self.is(Kind::String) ||
                        self.is(Kind::Dict) || self.is(Kind::Undefined));
}

Value odd(Interpreter& jinja, const Value& self, Args) {
  return Value::boolean(equal(binary(Op::Modulo, self, Value::integer(2), jinja.budget()),
                              Value::integer(1), jinja.budget()));
}
Value even(Interpreter& jinja, const Value& self, Args) {
  return Value::boolean(equal(binary(Op::Modulo, self, Value::integer(2), jinja.budget()),
                              Value::integer(0), jinja.budget()));
}
Value divisibleby(Interpreter& jinja, const Value& self, Args args) {
  return Value::boolean(
      equal(binary(Op::Modulo, self, args[0], jinja.budget()), Value::integer(0), jinja.budget()));
}

Value sameas(Interpreter& jinja, const Value& self, Args args) {
  if (self.kind() != args[0].kind()) return Value::boolean(false);
  switch (self.kind()) {
    case Kind::None:
      return Value::boolean(true);
    case Kind::Bool:
    case Kind::Int:
    case Kind::String:
      return Value::boolean(equal(self, args[0], jinja.budget()));
    default:
      return Value::boolean(self.pointer() != nullptr && self.pointer() == args[0].pointer());
  }
}

Value in(Interpreter& jinja, const Value& self, Args args) {
  return Value::boolean(contains(args[0], self, jinja.budget()));
}

Value is_lower(Interpreter& jinja, const Value& self, Args) {
  const Value text = jinja.string(to_text(self, jinja.budget()));
  return find_method(text, "islower")->run(jinja, text, {});
}
Value is_upper(Interpreter& jinja, const Value& self, Args) {
  const Value text = jinja.string(to_text(self, jinja.budget()));
  return find_method(text, "isupper")->run(jinja, text, {});
}

Value is_filter(Interpreter& jinja, const Value& self, Args) {
  require_hashable(self, jinja.budget());
  return Value::boolean(self.is(Kind::String) && find_filter(self.text().view()) != nullptr);
}
Value is_test(Interpreter& jinja, const Value& self, Args) {
  require_hashable(self, jinja.budget());
  return Value::boolean(self.is(Kind::String) && find_test(self.text().view()) != nullptr);
}

Value eq(Interpreter& jinja, const Value& self, Args args) {
  return Value::boolean(equal(self, args[0], jinja.budget()));
}
Value ne(Interpreter& jinja, const Value& self, Args args) {
  return Value::boolean(!truth(eq(jinja, self, args)));
}
Value lt(Interpreter& jinja, const Value& self, Args args) {
  return Value::boolean(order(self, args[0], jinja.budget(), "<") < 0);
}
Value le(Interpreter& jinja, const Value& self, Args args) {
  return Value::boolean(order(self, args[0], jinja.budget(), "<=") <= 0);
}
Value gt(Interpreter& jinja, const Value& self, Args args) {
  return Value::boolean(order(self, args[0], jinja.budget(), ">") > 0);
}
Value ge(Interpreter& jinja, const Value& self, Args args) {
  return Value::boolean(order(self, args[0], jinja.budget(), ">=") >= 0);
}

constexpr std::array kTests = {
    Builtin{"defined", "", 0, defined},
    Builtin{"undefined", "", 0, is_of_kind<Kind::Undefined>},
    Builtin{"none", "", 0, is_of_kind<Kind::None>},
    Builtin{"boolean", "", 0, is_of_kind<Kind::Bool>},
    Builtin{"true", "", 0, is_true},
    Builtin{"false", "", 0, is_false},
    Builtin{"integer", "", 0, is_of_kind<Kind::Int>},
    Builtin{"float", "", 0, is_of_kind<Kind::Float>},
    Builtin{"number", "", 0, number},
    Builtin{"string", "", 0, is_of_kind<Kind::String>},
    Builtin{"mapping", "", 0, is_of_kind<Kind::Dict>},
    Builtin{"sequence", "", 0, sequence},
    Builtin{"iterable", "", 0, iterable},
    Builtin{"callable", "", 0,
            is_of_kind<Kind::Macro, Kind::Method, Kind::Function, Kind::Undefined, Kind::Loop,
                       Kind::Joiner>},
    Builtin{"escaped", "", 0, is_escaped},
    Builtin{"odd", "", 0, odd},
    Builtin{"even", "", 0, even},
    Builtin{"divisibleby", "num", 1, divisibleby},
    Builtin{"sameas", "other", 1, sameas},
    Builtin{"in", "seq", 1, in},
    Builtin{"lower", "", 0, is_lower},
    Builtin{"upper", "", 0, is_upper},
    Builtin{"filter", "", 0, is_filter},
    Builtin{"test", "", 0, is_test},
    Builtin{"eq", "other", 1, eq},
    Builtin{"equalto", "other", 1, eq},
    Builtin{"==", "other", 1, eq},
    Builtin{"ne", "other", 1, ne},
    Builtin{"!=", "other", 1, ne},
    Builtin{"lt", "other", 1, lt},
    Builtin{"lessthan", "other", 1, lt},
    Builtin{"<", "other", 1, lt},
    Builtin{"le", "other", 1, le},
    Builtin{"<=", "other", 1, le},
    Builtin{"gt", "other", 1, gt},
    Builtin{"greaterthan", "other", 1, gt},
    Builtin{">", "other", 1, gt},
    Builtin{"ge", "other", 1, ge},
    Builtin{">=", "other", 1, ge},
};

}  // namespace

std::span<const Builtin> tests() { return kTests; }

}  // namespace tenon::jinja
