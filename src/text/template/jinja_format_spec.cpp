#include "text/template/jinja_format_spec.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "text/template/jinja_characters.h"
#include "text/template/jinja_format.h"
#include "text/template/jinja_operators.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace {

constexpr std::string_view kIntegerTypes = "bcdoxXn";
constexpr std::string_view kRealTypes = "eEfFgGn%";

bool is_one_of(std::string_view set, char c) { return c != 0 && set.find(c) != set.npos; }

/// Inserts separators between groups and pads with zeros to `least` characters, like Python, which
/// never puts a separator first.
std::string grouped(std::string_view digits, char separator, int64_t least, size_t group) {
  std::string reversed;
  auto remaining = static_cast<int64_t>(digits.size());
  for (;;) {
    const int64_t count =
        std::min(static_cast<int64_t>(group), std::max({remaining, least, int64_t{1}}));
    for (int64_t i = 0; i < count; ++i) {
      reversed += remaining > i ? digits[static_cast<size_t>(remaining - i - 1)] : '0';
    }
    remaining -= count;
    least -= count;
    if (remaining <= 0 && least <= 0) break;
    reversed += separator;
    --least;
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

/// Assembles a number: sign, "0x", digits, and the rest.
Text laid_out(std::string sign, std::string_view prefix, std::string_view digits,
              std::string_view rest, const FormatSpec& spec, Budget& budget) {
  sign += prefix;
  std::string number(digits);
  const bool zeros = spec.align == FormatSpec::Align::BehindSign && spec.fill.view() == "0";
  if (spec.grouping != 0 && !digits.empty()) {
    const size_t group = is_one_of("boxX", spec.type) ? 4 : 3;
    const auto others = static_cast<int64_t>(sign.size() + rest.size());
    number = grouped(digits, spec.grouping, zeros ? spec.width - others : 0, group);
  }
  number += rest;
  if (spec.align != FormatSpec::Align::BehindSign) {
    return aligned_text(Text(sign + number), spec, FormatSpec::Align::Right, budget);
  }
  FormatSpec after = spec;
  after.width -= static_cast<int64_t>(sign.size());
  after.align = FormatSpec::Align::Right;
  after.precision = -1;
  Text out(std::move(sign));
  out.append(aligned_text(Text(std::move(number)), after, FormatSpec::Align::Right, budget));
  return out;
}

std::string sign_of(bool is_negative, const FormatSpec& spec) {
  return is_negative ? "-" : spec.sign != 0 ? std::string(1, spec.sign) : "";
}

/// Digits of a float without its sign.
std::string real_digits(double value, const FormatSpec& spec) {
  const int precision = spec.precision < 0 ? 6 : std::min(spec.precision, kMaxPrecision);
  const char type = spec.type == 'n' ? 'g' : spec.type;
  if (type == 0 && spec.precision < 0) return real_text(value);
  if (type == 0) {
    // Like 'g' with a digit after the point; numbers that would fill the precision get an exponent.
    const int digits = std::max(precision, 1);
    std::string exponent = fmt::format("{:.{}e}", value, digits - 1);
    const size_t mark = exponent.find('e');
    if (mark == exponent.npos) return exponent;  // inf, nan
    int power = std::stoi(exponent.substr(mark + 1));
    if (power < -4 || power >= digits - 1 + (spec.alternate ? 1 : 0)) {
      std::string mantissa = exponent.substr(0, mark);
      if (!spec.alternate && mantissa.find('.') != mantissa.npos) {
        mantissa.erase(mantissa.find_last_not_of('0') + 1);
        if (mantissa.back() == '.') mantissa.pop_back();
      }
      return mantissa + exponent.substr(mark);
    }
    std::string text = spec.alternate ? fmt::format("{:#.{}g}", value, digits)
                                      : fmt::format("{:.{}g}", value, digits);
    if (text.find('.') == text.npos) text += ".0";
    return text;
  }
  const bool is_percent = type == '%';
  const std::string pattern =
      fmt::format("{{:{}.{{}}{}}}", spec.alternate ? "#" : "", is_percent ? 'f' : type);
  std::string text =
      fmt::format(fmt::runtime(pattern), is_percent ? value * 100 : value, precision);
  // '#' keeps trailing zeros and the point, but adds no digit.
  const bool adds_digit = spec.alternate && (type | 32) == 'g' && text.ends_with(".0") &&
                          text.size() - 2 >= static_cast<size_t>(std::max(precision, 1));
  if (adds_digit) text.pop_back();
  if (is_percent) text += '%';
  return text;
}

[[noreturn]] void raise_code(char type, const Value& value) {
  raise("Unknown format code '{}' for object of type '{}'", type, type_name(value));
}

Text number_formatted(const Value& value, FormatSpec spec, Budget& budget) {
  const bool as_integer =
      value.is_integral() && (spec.type == 0 || is_one_of(kIntegerTypes, spec.type));
  if (!as_integer) {
    if (spec.type != 0 && !is_one_of(kRealTypes, spec.type)) raise_code(spec.type, value);
    return real_text(value.as_real(), spec, budget);
  }
  if (spec.precision >= 0) raise("Precision not allowed in integer format specifier");
  if (spec.no_negative_zero) {
    raise("Negative zero coercion (z) not allowed in integer format specifier");
  }
  if (spec.type != 'c') return integer_text(value.as_integer(), spec, budget);
  if (spec.sign != 0) raise("Sign not allowed with integer format specifier 'c'");
  if (spec.alternate) raise("Alternate form (#) not allowed with integer format specifier 'c'");
  const int64_t code = value.as_integer();
  if (code < 0 || code > 0x10FFFF) raise("%c arg not in range(0x110000)");
  if (code >= 0xD800 && code < 0xE000) raise("the code {} is no character", code);
  std::string bytes;
  utf8_append(static_cast<uint32_t>(code), bytes);
  if (spec.align == FormatSpec::Align::BehindSign) spec.align = FormatSpec::Align::Right;
  return aligned_text(Text(std::move(bytes)), spec, FormatSpec::Align::Right, budget);
}

Text string_formatted(const Value& value, const FormatSpec& spec, Budget& budget) {
  if (spec.type != 0 && spec.type != 's') raise_code(spec.type, value);
  if (spec.sign != 0) raise("Sign not allowed in string format specifier");
  if (spec.no_negative_zero) {
    raise("Negative zero coercion (z) not allowed in string format specifier");
  }
  if (spec.alternate) raise("Alternate form (#) not allowed in string format specifier");
  if (spec.align == FormatSpec::Align::BehindSign) {
    raise("'=' alignment not allowed in string format specifier");
  }
  return aligned_text(value.text(), spec, FormatSpec::Align::Left, budget);
}

std::optional<FormatSpec::Align> align_of(char c) {
  constexpr std::string_view kMarks = "<>^=";
  const size_t at = kMarks.find(c);
  return at == kMarks.npos ? std::nullopt : std::optional(static_cast<FormatSpec::Align>(at));
}

/// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
FormatSpec parsed_spec(const Value& value, std::string_view text) {
  FormatSpec spec;
  size_t at = 0;
  bool has_fill = false;
  const size_t first = utf8_decode_valid(text.data()).size;
  if (first < text.size() && align_of(text[first])) {
    spec.fill = Text(std::string(text.substr(0, first)));
    spec.align = align_of(text[first]);
    has_fill = true;
    at = first + 1;
  } else if (align_of(text[0])) {
    spec.align = align_of(text[0]);
    at = 1;
  }
  const auto skip = [&](char c) { return at < text.size() && text[at] == c && ++at != 0; };
  if (skip('+'))
    spec.sign = '+';
  else if (skip(' '))
    spec.sign = ' ';
  else if (skip('-'))
    spec.sign = value.is(Kind::String) ? '-' : '\0';  // an error there, and the default elsewhere
  spec.no_negative_zero = skip('z');
  spec.alternate = skip('#');
  if (!has_fill && skip('0')) {
    spec.fill = Text("0");
    if (!spec.align && value.is_number()) spec.align = FormatSpec::Align::BehindSign;
  }
  spec.width = read_number(text, at);
  if (skip(',')) spec.grouping = ',';
  if (skip('_')) {
    if (spec.grouping != 0) raise("Cannot specify both ',' and '_'.");
    spec.grouping = '_';
  }
  if (skip(',')) raise("Cannot specify both ',' and '_'.");
  if (skip('.')) {
    const size_t begin = at;
    spec.precision = static_cast<int>(read_number(text, at));
    if (at == begin) raise("Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) raise("Invalid format specifier");
  const bool groups =
      spec.type == 0 ? value.is_number()
                     : is_one_of(spec.grouping == '_' ? "deEfFgG%boxX" : "deEfFgG%", spec.type);
  if (spec.grouping != 0 && !groups) {
    raise("Cannot specify '{}' with '{}'.", spec.grouping, spec.type == 0 ? 's' : spec.type);
  }
  return spec;
}

}  // namespace

int64_t read_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = std::min(value * 10 + (text[at++] - '0'), kMaxFormatWidth + 1);
  }
  if (value > kMaxFormatWidth) raise("a width of more than {}", kMaxFormatWidth);
  return value;
}

Text integer_text(int64_t value, const FormatSpec& spec, Budget& budget) {
  const uint64_t magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string_view prefix;
  std::string digits;
  switch (spec.type) {
    case 'x':
      prefix = "0x";
      digits = fmt::format("{:x}", magnitude);
      break;
    case 'X':
      prefix = "0X";
      digits = fmt::format("{:X}", magnitude);
      break;
    case 'o':
      prefix = "0o";
      digits = fmt::format("{:o}", magnitude);
      break;
    case 'b':
      prefix = "0b";
      digits = fmt::format("{:b}", magnitude);
      break;
    default:
      digits = fmt::format("{}", magnitude);
  }
  if (spec.least_digits > static_cast<int64_t>(digits.size())) {
    budget.check_size(static_cast<size_t>(spec.least_digits));
    digits.insert(0, static_cast<size_t>(spec.least_digits) - digits.size(), '0');
  }
  if (!spec.alternate) prefix = {};
  return laid_out(sign_of(value < 0, spec), prefix, digits, "", spec, budget);
}

Text real_text(double value, const FormatSpec& spec, Budget& budget) {
  const bool is_number = !std::isnan(value);
  const std::string digits = real_digits(is_number ? std::fabs(value) : value, spec);
  bool is_negative = is_number && std::signbit(value);
  if (spec.no_negative_zero && digits.find_first_of("123456789in") == digits.npos) {
    is_negative = false;
  }
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  return laid_out(sign_of(is_negative, spec), "", std::string_view(digits).substr(0, whole),
                  std::string_view(digits).substr(whole), spec, budget);
}

Text aligned_text(Text text, const FormatSpec& spec, FormatSpec::Align standard, Budget& budget) {
  const FormatSpec::Align align = spec.align.value_or(standard);
  const auto size = static_cast<int64_t>(count_characters(text.view()));
  if (spec.width <= size) return text;
  const auto missing = static_cast<size_t>(spec.width - size);
  budget.check_size(text.size() + missing * spec.fill.size());
  const size_t left = align == FormatSpec::Align::Left     ? 0
                      : align == FormatSpec::Align::Center ? missing / 2
                                                           : missing;
  Text out = repeated_text(spec.fill, left, budget);
  out.append(text);
  out.append(repeated_text(spec.fill, missing - left, budget));
  return out;
}

Text formatted(const Value& value, std::string_view text, Budget& budget) {
  if (text.empty()) return to_text(value, budget);
  if (!value.is_number() && !value.is(Kind::String)) {
    raise("unsupported format string passed to {}.__format__", type_name(value));
  }
  const FormatSpec spec = parsed_spec(value, text);
  if (value.is_number()) return number_formatted(value, spec, budget);
  if (spec.precision < 0) return string_formatted(value, spec, budget);
  const Text& all = value.text();
  const size_t end = character_offset(all.view(), static_cast<size_t>(spec.precision));
  return string_formatted(Value::string(all.slice(0, end)), spec, budget);
}

}  // namespace tenon::jinja
