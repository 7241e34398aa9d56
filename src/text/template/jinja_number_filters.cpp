// Filters that return numbers.
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "text/template/jinja_builtins.h"
#include "text/template/jinja_format.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_operators.h"
#include "text/template/jinja_text_tools.h"

namespace tenon::jinja {
namespace number_filters_table {
namespace {

using Args = std::span<const Value>;

Value absolute(Interpreter&, const Value& self, Args) {
  require_defined(self);
  if (self.is(Kind::Float)) return Value::real(std::fabs(self.as_real()));
  if (!self.is_integral()) raise("bad operand type for abs(): '{}'", type_name(self));
  return self.as_integer() < 0 ? negative(self) : Value::integer(self.as_integer());
}

/// Prepares a text for int(text, base) and float(text): removes white space around it and
/// underscores between digits.
std::string number_word(const Text& text, Budget& budget) {
  std::string word = stripped(text, Value::none(), true, true, budget).bytes();
  std::string out;
  for (size_t i = 0; i < word.size(); ++i) {
    const auto digit = [&](size_t at) {
      return at < word.size() && std::isalnum(static_cast<unsigned char>(word[at])) != 0;
    };
    budget.spend_character();
    if (word[i] == '_' && i > 0 && digit(i - 1) && digit(i + 1)) continue;
    out += word[i];
  }
  return out;
}

std::optional<int64_t> parsed_integer(const Text& text, int64_t base, Budget& budget) {
  std::string word = number_word(text, budget);
  const bool is_negative = word.starts_with('-');
  if (is_negative || word.starts_with('+')) word.erase(0, 1);
  if (word.size() > 2 && word[0] == '0') {
    const char prefix = static_cast<char>(word[1] | 32);
    const int64_t of_prefix = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
    if (of_prefix != 0 && (base == of_prefix || base == 0)) {
      word.erase(0, 2);
      base = of_prefix;
    }
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36 || word.empty() || word[0] == '-') return std::nullopt;
  std::string digits(is_negative ? 1 : 0, '-');
  digits += word;
  int64_t value = 0;
  const char* const stop = digits.data() + digits.size();
  const auto end = std::from_chars(digits.data(), stop, value, static_cast<int>(base));
  if (end.ptr != stop) return std::nullopt;
  if (end.ec == std::errc::result_out_of_range)
    raise("{} does not fit 64 bits", shown(text.view()));
  return end.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<double> parsed_real(const Text& text, Budget& budget) {
  std::string word = number_word(text, budget);
  if (word.starts_with('+')) word.erase(0, 1);
  double value = 0;
  const auto end = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || end.ptr != word.data() + word.size()) return std::nullopt;
  if (end.ec == std::errc::result_out_of_range) {
    return word.find("e-") != word.npos ? 0.0 : word[0] == '-' ? -HUGE_VAL : HUGE_VAL;
  }
  return end.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> truncated(double value) {
  if (std::isnan(value)) return std::nullopt;
  if (std::isinf(value)) raise("cannot convert float infinity to integer");
  const double whole = std::trunc(value);
  if (!(whole >= -0x1p63 && whole < 0x1p63)) raise("{} does not fit 64 bits", real_text(value));
  return static_cast<int64_t>(whole);
}

Value to_integer(Interpreter& jinja, const Value& self, Args args) {
  require_defined(self);
  const Value otherwise = args[0].is(Kind::Absent) ? Value::integer(0) : args[0];
  std::optional<int64_t> value;
  if (self.is(Kind::String)) {
    const int64_t base = args[1].is(Kind::Absent) ? 10 : integer_of(args[1]);
    value = parsed_integer(self.text(), base, jinja.budget());
    if (!value) {
      const std::optional<double> real = parsed_real(self.text(), jinja.budget());
      if (real && !std::isinf(*real)) value = truncated(*real);
    }
  } else if (self.is(Kind::Float)) {
    value = truncated(self.as_real());
  } else if (self.is_integral()) {
    value = self.as_integer();
  }
  return value ? Value::integer(*value) : otherwise;
}

Value to_real(Interpreter& jinja, const Value& self, Args args) {
  require_defined(self);
  if (self.is_number()) return Value::real(self.as_real());
  std::optional<double> value;
  if (self.is(Kind::String)) value = parsed_real(self.text(), jinja.budget());
  if (value) return Value::real(*value);
  return args[0].is(Kind::Absent) ? Value::real(0.0) : args[0];
}

double rounded(double value, int64_t digits) {
  if (!std::isfinite(value)) return value;
  if (digits >= 0) {
    // Like Python's round(): decimal digits of the exact value, rounded half to even.
    const std::string text = fmt::format("{:.{}f}", value, std::min<int64_t>(digits, 400));
    double out = value;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  }
  const double scale = std::pow(10.0, static_cast<double>(-std::max<int64_t>(digits, -300)));
  return std::nearbyint(value / scale) * scale;
}

Value round(Interpreter& jinja, const Value& self, Args args) {
  require_defined(self);
  const int64_t digits = args[0].is(Kind::Absent) ? 0 : integer_of(args[0]);
  const std::string method = args[1].is(Kind::Absent) ? "common" : text_of(args[1]).bytes();
  if (method != "common" && method != "ceil" && method != "floor") {
    raise("method must be common, ceil or floor");
  }
  if (!self.is_number()) raise("type {} doesn't define __round__ method", type_name(self));
  if (method == "common") {
    if (self.is_integral()) {
      if (digits >= 0) return Value::integer(self.as_integer());
      return Value::integer(static_cast<int64_t>(rounded(self.as_real(), digits)));
    }
    return Value::real(rounded(self.as_real(), digits));
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = self.as_real() * scale;
  (void)jinja;
  const double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  return Value::real(whole == 0 ? 0.0 : whole / scale);  // never -0.0
}

Value filesizeformat(Interpreter& jinja, const Value& self, Args args) {
  const Value number = to_real(jinja, self, std::array{Value::none()});
  if (number.is(Kind::None)) raise("'{}' is not the size of a file", type_name(self));
  const double bytes = number.as_real();
  const bool binary = truth(args[0]);
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return jinja.string(std::string("1 Byte"));
  if (bytes < base) return jinja.string(fmt::format("{:.0f} Bytes", std::trunc(bytes) + 0.0));
  constexpr std::string_view kLetters = "KMGTPEZY";
  double unit = base;
  for (size_t i = 0;; ++i) {
    unit *= base;
    if (bytes >= unit && i + 1 < kLetters.size()) continue;
    const char letter = i == 0 && !binary ? 'k' : kLetters[i];
    return jinja.string(
        fmt::format("{:.1f} {}{}", base * bytes / unit, letter, binary ? "iB" : "B"));
  }
}

constexpr std::array kFilters = {
    Builtin{"abs", "", 0, absolute},
    Builtin{"int", "default,base", 0, to_integer},
    Builtin{"float", "default", 0, to_real},
    Builtin{"round", "precision,method", 0, round},
    Builtin{"filesizeformat", "binary", 0, filesizeformat},
};

}  // namespace
}  // namespace number_filters_table

std::span<const Builtin> number_filters() { return number_filters_table::kFilters; }

}  // namespace tenon::jinja
