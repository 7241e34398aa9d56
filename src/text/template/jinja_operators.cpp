#include "text/template/jinja_operators.h"

#include <algorithm>
#include <cmath>

#include "text/template/jinja_characters.h"
#include "text/template/jinja_format.h"
#include "text/template/jinja_markup.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace {

constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void raise_operands(Op op, const Value& a, const Value& b) {
  if (op == Op::Add && a.is(Kind::String)) {
    raise("can only concatenate str (not \"{}\") to str", type_name(b));
  }
  raise("unsupported operand type(s) for {}: '{}' and '{}'", kSymbols[static_cast<size_t>(op)],
        type_name(a), type_name(b));
}

[[noreturn]] void raise_overflow() { raise("the result does not fit 64 bits"); }

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) raise("integer division or modulo by zero");
  if (b == -1) {
    if (a == INT64_MIN) raise_overflow();
    return -a;
  }
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) raise_overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) raise_overflow();
  }
  return result;
}

/// a / b, as precise as a double allows.
double ratio(int64_t a, int64_t b) {
  constexpr int64_t kExact = int64_t{1} << 53;
  const auto fits = [](int64_t value) { return value >= -kExact && value <= kExact; };
  if (fits(a) && fits(b)) return static_cast<double>(a) / static_cast<double>(b);
  return static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b));
}

Value integers(Op op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case Op::Add:
      if (__builtin_add_overflow(a, b, &out)) raise_overflow();
      return Value::integer(out);
    case Op::Subtract:
      if (__builtin_sub_overflow(a, b, &out)) raise_overflow();
      return Value::integer(out);
    case Op::Multiply:
      if (__builtin_mul_overflow(a, b, &out)) raise_overflow();
      return Value::integer(out);
    case Op::Divide:
      if (b == 0) raise("division by zero");
      return Value::real(ratio(a, b));
    case Op::FloorDivide:
      return Value::integer(floor_divide(a, b));
    case Op::Modulo:
      return b == -1 ? Value::integer(0) : Value::integer(a - floor_divide(a, b) * b);
    default:
      if (b < 0) {
        if (a == 0) raise("0.0 cannot be raised to a negative power");
        return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)));
      }
      return Value::integer(power(a, b));
  }
}

double real_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double real_floor_divide(double a, double b) {
  const double rest = real_modulo(a, b);
  const double quotient = (a - rest) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Value reals(Op op, double a, double b) {
  const bool divides = op == Op::Divide || op == Op::FloorDivide || op == Op::Modulo;
  if (divides && b == 0) {
    raise("{}", op == Op::Divide        ? "float division by zero"
                : op == Op::FloorDivide ? "float floor division by zero"
                                        : "float modulo by zero");
  }
  switch (op) {
    case Op::Add:
      return Value::real(a + b);
    case Op::Subtract:
      return Value::real(a - b);
    case Op::Multiply:
      return Value::real(a * b);
    case Op::Divide:
      return Value::real(a / b);
    case Op::FloorDivide:
      return Value::real(real_floor_divide(a, b));
    case Op::Modulo:
      return Value::real(real_modulo(a, b));
    default: {
      if (a == 0 && b < 0) raise("0.0 cannot be raised to a negative power");
      const double result = std::pow(a, b);
      if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) raise("result too large");
      if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) raise("complex numbers");
      return Value::real(result);
    }
  }
}

Value repeated(const Value& what, int64_t times, Budget& budget) {
  const size_t size = what.is(Kind::String) ? what.text().size() : what.items().values.size();
  if (times <= 0 || size == 0) times = 0;
  const size_t count = static_cast<size_t>(times);
  if (count != 0 && size > budget.limits().output_bytes / count) {
    raise("{} times {} is larger than the limit of {}", count,
          what.is(Kind::String) ? fmt::format("a text of {} bytes", size)
                                : fmt::format("a list of {}", size),
          budget.limits().output_bytes);
  }
  if (what.is(Kind::String)) return like(what, repeated_text(what.text(), count, budget), budget);
  const std::vector<Value>& from = what.items().values;
  const size_t bytes = size * count * sizeof(Value);
  budget.hold(bytes);
  budget.release(bytes);
  std::vector<Value> out;
  out.reserve(size * count);
  for (size_t i = 0; i < count; ++i) {
    budget.spend(1 + from.size() / 8);
    out.insert(out.end(), from.begin(), from.end());
  }
  return Value::sequence(what.kind(), std::move(out), &budget);
}

/// Position among `size` items; negative indices count from the end. Returns size if outside.
size_t place_of(int64_t index, size_t size) {
  const auto count = static_cast<int64_t>(size);
  if (index < 0) index += count;
  return index < 0 || index >= count ? size : static_cast<size_t>(index);
}

struct Steps {
  int64_t begin, stop, step;
  [[nodiscard]] bool goes_on(int64_t at) const { return step > 0 ? at < stop : at > stop; }
};

Steps steps_of(size_t size, const Value& begin, const Value& stop, const Value& step) {
  const auto given = [](const Value& v) { return !v.is(Kind::None) && !v.is(Kind::Absent); };
  const auto count = static_cast<int64_t>(size);
  Steps out{0, count, 1};
  if (given(step)) out.step = integer_of(step);
  if (out.step == 0) raise("slice step cannot be zero");
  // Larger steps take one item, like these bounds.
  out.step = std::clamp<int64_t>(out.step, -count - 1, count + 1);
  const int64_t low = out.step > 0 ? 0 : -1;
  const int64_t high = out.step > 0 ? count : count - 1;
  const auto place = [&](const Value& value) {
    const int64_t index = integer_of(value);
    return std::clamp(index < 0 ? std::max(index, -count - 1) + count : index, low, high);
  };
  out.begin = given(begin) ? place(begin) : out.step > 0 ? low : high;
  out.stop = given(stop) ? place(stop) : out.step > 0 ? high : low;
  return out;
}

Text slice_text(const Text& text, const Value& begin, const Value& stop, const Value& step,
                Budget& budget) {
  budget.spend_bytes(text.size());
  const Steps steps = steps_of(count_characters(text.view()), begin, stop, step);
  if (steps.step == 1) {
    if (steps.begin >= steps.stop) return Text();
    const size_t from = character_offset(text.view(), static_cast<size_t>(steps.begin));
    const size_t more =
        character_offset(text.view().substr(from), static_cast<size_t>(steps.stop - steps.begin));
    return text.slice(from, from + more);
  }
  Object held;
  held.charge(&budget, (text.size() + 1) * sizeof(size_t));
  std::vector<size_t> offsets;
  for (const Character c : Characters(text.view(), budget)) offsets.push_back(c.begin);
  offsets.push_back(text.size());
  Text out;
  for (int64_t at = steps.begin; steps.goes_on(at); at += steps.step) {
    const auto place = static_cast<size_t>(at);
    budget.spend_character();
    out.append(text, offsets[place], offsets[place + 1]);
  }
  return out;
}

}  // namespace

bool is_range(const Value& value) { return value.is(Kind::List) && value.items().is_range; }
bool is_list_or_tuple(const Value& value) { return value.is(Kind::List) || value.is(Kind::Tuple); }
bool is_joinable(const Value& value) { return is_list_or_tuple(value) && !is_range(value); }

void require_defined(const Value& value) {
  if (value.is(Kind::Undefined)) raise("{}", value.undefined_message());
}

int64_t integer_of(const Value& value) {
  require_defined(value);
  if (!value.is_integral()) {
    raise("'{}' object cannot be interpreted as an integer", type_name(value));
  }
  return value.as_integer();
}

bool truth(const Value& value) {
  switch (value.kind()) {
    case Kind::Absent:
    case Kind::Undefined:
    case Kind::None:
      return false;
    case Kind::Bool:
    case Kind::Int:
      return value.as_integer() != 0;
    case Kind::Float:
      return value.as_real() != 0;
    case Kind::String:
      return !value.text().empty();
    case Kind::List:
    case Kind::Tuple:
    case Kind::View:
      return !value.items().values.empty();
    case Kind::Dict:
      return !value.entries().entries.empty();
    default:
      return true;
  }
}

Value binary(Op op, const Value& a, const Value& b, Budget& budget) {
  if (op == Op::Modulo && a.is(Kind::String)) return formatted(a, b, budget);
  require_defined(a);
  require_defined(b);
  if (a.is_integral() && b.is_integral()) return integers(op, a.as_integer(), b.as_integer());
  if (a.is_number() && b.is_number()) return reals(op, a.as_real(), b.as_real());
  if (op == Op::Add) {
    if (a.is(Kind::String) && b.is(Kind::String)) return joined(a, b, budget);
    if (a.kind() == b.kind() && is_joinable(a) && is_joinable(b)) {
      std::vector<Value> out = a.items().values;
      budget.spend(out.size() + b.items().values.size());
      out.insert(out.end(), b.items().values.begin(), b.items().values.end());
      return Value::sequence(a.kind(), std::move(out), &budget);
    }
  }
  if (op == Op::Multiply) {
    const auto repeats = [](const Value& v) { return v.is(Kind::String) || is_joinable(v); };
    if (repeats(a) && b.is_integral()) return repeated(a, b.as_integer(), budget);
    if (repeats(b) && a.is_integral()) return repeated(b, a.as_integer(), budget);
  }
  raise_operands(op, a, b);
}

Value negative(const Value& value) {
  require_defined(value);
  if (value.is(Kind::Float)) return Value::real(-value.as_real());
  if (!value.is_integral()) raise("bad operand type for unary -: '{}'", type_name(value));
  if (value.as_integer() == INT64_MIN) raise_overflow();
  return Value::integer(-value.as_integer());
}

Value range_of(std::vector<Value> values, std::array<int64_t, 3> bounds, Budget& budget) {
  Value out = Value::sequence(Kind::List, std::move(values), &budget);
  auto& range = static_cast<Sequence&>(*out.pointer());
  range.type = "range";
  range.is_range = true;
  range.range = bounds;
  return out;
}

std::vector<Value> iterate(const Value& value, Budget& budget) {
  switch (value.kind()) {
    case Kind::Undefined:
      return {};
    case Kind::Generator:
      if (std::exchange(value.items().used, true)) return {};
      [[fallthrough]];
    case Kind::List:
    case Kind::Tuple:
    case Kind::View:
      budget.spend(1 + value.items().values.size() / 8);
      return value.items().values;
    case Kind::Dict: {
      std::vector<Value> keys;
      budget.spend(1 + value.entries().entries.size() / 8);
      for (const auto& entry : value.entries().entries) keys.push_back(entry.first);
      return keys;
    }
    case Kind::String: {
      const Text& text = value.text();
      std::vector<Value> characters;
      for (const Character c : Characters(text.view(), budget)) {
        characters.push_back(Value::string(text.slice(c.begin, c.end), &budget));
      }
      return characters;
    }
    default:
      raise("'{}' object is not iterable", type_name(value));
  }
}

size_t length(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined:
      return 0;
    case Kind::String:
      return count_characters(value.text().view());
    case Kind::List:
    case Kind::Tuple:
    case Kind::View:
      return value.items().values.size();
    case Kind::Dict:
      return value.entries().entries.size();
    default:
      raise("object of type '{}' has no len()", type_name(value));
  }
}

Value lookup(const Value& container, const Value& key, Budget& budget) {
  if (container.is(Kind::Dict)) {
    const Value* found = container.entries().find(key, budget);
    return found != nullptr ? *found : Value::absent();
  }
  if (!key.is_integral()) return Value::absent();
  if (container.is(Kind::List) || container.is(Kind::Tuple)) {
    const std::vector<Value>& values = container.items().values;
    const size_t place = place_of(key.as_integer(), values.size());
    return place < values.size() ? values[place] : Value::absent();
  }
  if (container.is(Kind::String)) {
    const Text& text = container.text();
    budget.spend_bytes(text.size());
    const size_t size = count_characters(text.view());
    const size_t place = place_of(key.as_integer(), size);
    if (place >= size) return Value::absent();
    const size_t from = character_offset(text.view(), place);
    return like(container,
                text.slice(from, from + utf8_decode_valid(text.view().data() + from).size), budget);
  }
  return Value::absent();
}

Value slice(const Value& container, const Value& begin, const Value& stop, const Value& step,
            Budget& budget) {
  if (container.is(Kind::String)) {
    return like(container, slice_text(container.text(), begin, stop, step, budget), budget);
  }
  require_defined(container);
  if (container.is(Kind::Dict)) raise("unhashable type: 'slice'");
  if (!is_list_or_tuple(container)) raise("'{}' object is not subscriptable", type_name(container));
  const std::vector<Value>& values = container.items().values;
  const Steps steps = steps_of(values.size(), begin, stop, step);
  std::vector<Value> out;
  for (int64_t at = steps.begin; steps.goes_on(at); at += steps.step) {
    budget.spend();
    out.push_back(values[static_cast<size_t>(at)]);
  }
  if (is_range(container)) {
    const int64_t begin_at = container.items().range[0];
    const int64_t step_by = container.items().range[2];
    const auto times = [step = step_by](int64_t count) {  // wraps only for bounds beyond all items
      return static_cast<int64_t>(static_cast<uint64_t>(step) * static_cast<uint64_t>(count));
    };
    const auto place = [&](int64_t index) {
      return static_cast<int64_t>(static_cast<uint64_t>(begin_at) +
                                  static_cast<uint64_t>(times(index)));
    };
    return range_of(std::move(out), {place(steps.begin), place(steps.stop), times(steps.step)},
                    budget);
  }
  return Value::sequence(container.kind(), std::move(out), &budget);
}

}  // namespace tenon::jinja
