#include "text/template/jinja_printf.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "text/template/jinja_characters.h"
#include "text/template/jinja_format.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_operators.h"
#include "text/template/jinja_text_tools.h"
#include "text/utf8_codec.h"

namespace tenon::jinja {
namespace {

constexpr int64_t kMaxWidth = 1 << 20;
constexpr int kMaxPrecision = 200;

/// One conversion: "%-08.3f" or "{:<8.3f}".
struct Spec {
  char type = 0;
  char sign = 0;      // '+', ' ' or 0
  bool zero = false;  // pad with zeros behind the sign
  bool alternate = false;
  bool commas = false;
  std::optional<Align> align{};
  Text fill{" "};
  int64_t width = 0;
  int precision = -1;
};

bool is_digit_byte(char c) { return c >= '0' && c <= '9'; }

int64_t read_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  while (at < text.size() && is_digit_byte(text[at])) {
    value = std::min(value * 10 + (text[at++] - '0'), kMaxWidth + 1);
  }
  if (value > kMaxWidth) raise("a width of more than {}", kMaxWidth);
  return value;
}

std::string with_commas(const std::string& digits) {
  const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  std::string out;
  for (size_t i = 0; i < end; ++i) {
    if (i != 0 && (end - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out + digits.substr(end);
}

std::string real_digits(double value, const Spec& spec) {
  const int precision = spec.precision < 0 ? 6 : std::min(spec.precision, kMaxPrecision);
  switch (spec.type) {
    case 'e':
      return fmt::format("{:.{}e}", value, precision);
    case 'E':
      return fmt::format("{:.{}E}", value, precision);
    case 'g':
      return fmt::format("{:.{}g}", value, precision);
    case 'G':
      return fmt::format("{:.{}G}", value, precision);
    case '%':
      return fmt::format("{:.{}f}%", value * 100, precision);
    case 0: {
      if (spec.precision < 0) return real_text(value);
      std::string text = fmt::format("{:.{}g}", value, std::max(precision, 1));
      if (text.find_first_of(".en") == text.npos) text += ".0";
      return text;
    }
    default:
      return fmt::format("{:.{}f}", value, precision);
  }
}

std::string integer_digits(uint64_t value, const Spec& spec) {
  const char* prefix = !spec.alternate    ? ""
                       : spec.type == 'o' ? "0o"
                       : spec.type == 'b' ? "0b"
                       : spec.type == 'x' ? "0x"
                       : spec.type == 'X' ? "0X"
                                          : "";
  switch (spec.type) {
    case 'x':
      return fmt::format("{}{:x}", prefix, value);
    case 'X':
      return fmt::format("{}{:X}", prefix, value);
    case 'o':
      return fmt::format("{}{:o}", prefix, value);
    case 'b':
      return fmt::format("{}{:b}", prefix, value);
    default:
      return fmt::format("{}", value);
  }
}

Text padded_number(bool is_negative, std::string digits, const Spec& spec, Budget& budget) {
  if (spec.commas) digits = with_commas(digits);
  const std::string sign = is_negative ? "-" : spec.sign != 0 ? std::string(1, spec.sign) : "";
  if (spec.zero) {
    const int64_t width = spec.width - static_cast<int64_t>(sign.size());
    Text out(sign);
    out.append(padded(Text(std::move(digits)), width, Align::Right, Text("0"), budget));
    return out;
  }
  return padded(Text(sign + digits), spec.width, spec.align.value_or(Align::Right), spec.fill,
                budget);
}

Text number_text(const Value& value, const Spec& spec, Budget& budget) {
  constexpr std::string_view kRealTypes = "eEfFgG%";
  const bool as_real = value.is(Kind::Float)
                           ? spec.type != 'd' && spec.type != 'i'
                           : kRealTypes.find(spec.type) != kRealTypes.npos && spec.type != 0;
  if (as_real) {
    const double real = value.as_real();
    return padded_number(std::signbit(real) && !std::isnan(real),
                         real_digits(std::isnan(real) ? real : std::fabs(real), spec), spec,
                         budget);
  }
  int64_t integer = 0;
  if (value.is(Kind::Float)) {
    const double real = std::trunc(value.as_real());
    if (!(std::fabs(real) < 9.2e18)) raise("cannot convert the float to an integer of 64 bits");
    integer = static_cast<int64_t>(real);
  } else {
    integer = value.as_integer();
  }
  const uint64_t magnitude =
      integer < 0 ? uint64_t{0} - static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
  return padded_number(integer < 0, integer_digits(magnitude, spec), spec, budget);
}

Text string_text(Text text, const Spec& spec, Budget& budget) {
  if (spec.precision >= 0) {
    text = text.slice(0, character_offset(text.view(), static_cast<size_t>(spec.precision)));
  }
  return padded(text, spec.width, spec.align.value_or(Align::Left), spec.fill, budget);
}

class Printf {
 public:
  Printf(const Text& format, const Value& values, Budget& budget)
      : format_(format), view_(format.view()), values_(values), budget_(budget) {}

  Text run() {
    for (size_t at = 0; at < view_.size();) {
      const size_t mark = std::min(view_.find('%', at), view_.size());
      out_.append(format_, at, mark);
      at = mark;
      if (at < view_.size()) conversion(at);
      budget_.check_size(out_.size());
    }
    const bool all_used = next_ >= (values_.is(Kind::Tuple) ? values_.items().values.size() : 1);
    if (!all_used && !values_.is(Kind::Dict) && !(values_.is(Kind::List) && next_ == 0)) {
      raise("not all arguments converted during string formatting");
    }
    return std::move(out_);
  }

 private:
  Value next() {
    if (values_.is(Kind::Tuple)) {
      if (next_ >= values_.items().values.size()) raise("not enough arguments for format string");
      return values_.items().values[next_++];
    }
    if (next_++ != 0) raise("not enough arguments for format string");
    return values_;
  }

  void conversion(size_t& at) {
    ++at;
    Spec spec;
    std::optional<Value> named;
    if (at < view_.size() && view_[at] == '(') {
      const size_t end = view_.find(')', at);
      if (end == view_.npos) raise("incomplete format key");
      if (!values_.is(Kind::Dict)) raise("format requires a mapping");
      const std::string_view key = view_.substr(at + 1, end - at - 1);
      const Value* found = values_.entries().find(key);
      if (found == nullptr) raise("the dict has no key '{}'", key);
      named = *found;
      at = end + 1;
    }
    for (; at < view_.size(); ++at) {
      const char c = view_[at];
      if (c == '-')
        spec.align = Align::Left;
      else if (c == '+' || (c == ' ' && spec.sign == 0))
        spec.sign = c;
      else if (c == '0')
        spec.zero = true;
      else if (c == '#')
        spec.alternate = true;
      else if (c != ' ')
        break;
    }
    if (spec.align) spec.zero = false;
    spec.width = read_number(view_, at);
    if (at < view_.size() && view_[at] == '.')
      spec.precision = static_cast<int>(read_number(view_, ++at));
    if (at >= view_.size()) raise("incomplete format");
    spec.type = view_[at++];
    if (spec.type == '%') return out_.append("%", false);
    const Value value = named ? *named : next();
    switch (spec.type) {
      case 's':
        spec.align = spec.align.value_or(Align::Right);
        return out_.append(string_text(to_text(value, budget_), spec, budget_));
      case 'r':
      case 'a': {
        std::string text;
        append_repr(value, text, budget_);
        spec.align = spec.align.value_or(Align::Right);
        return out_.append(string_text(Text(std::move(text), has_foreign(value)), spec, budget_));
      }
      case 'c':
        if (value.is(Kind::String)) return out_.append(string_text(value.text(), spec, budget_));
        raise("%c requires a character");
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        require_defined(value);
        if (!value.is_number()) {
          raise("%{} format: a number is required, not {}", spec.type, type_name(value));
        }
        if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
        return out_.append(number_text(value, spec, budget_));
      default:
        raise("unsupported format character '{}'", spec.type);
    }
  }

  const Text& format_;
  std::string_view view_;
  const Value& values_;
  Budget& budget_;
  Text out_;
  size_t next_ = 0;
};

class Format {
 public:
  Format(Interpreter& jinja, const Text& format, std::span<const Value> positional,
         const Value& named)
      : jinja_(jinja),
        format_(format),
        view_(format.view()),
        positional_(positional),
        named_(named) {}

  Text run() {
    for (size_t at = 0; at < view_.size();) {
      const size_t mark = std::min(view_.find_first_of("{}", at), view_.size());
      out_.append(format_, at, mark);
      at = mark;
      jinja_.budget().check_size(out_.size());
      if (at >= view_.size()) break;
      if (at + 1 < view_.size() && view_[at + 1] == view_[at]) {
        out_.append(format_, at, at + 1);
        at += 2;
      } else if (view_[at] == '}') {
        raise("Single '}}' encountered in format string");
      } else {
        at = field(at + 1);
      }
    }
    return std::move(out_);
  }

 private:
  size_t field(size_t at) {
    const size_t end = view_.find('}', at);
    if (end == view_.npos) raise("expected '}}' before end of string");
    const std::string_view body = view_.substr(at, end - at);
    const size_t colon = std::min(body.find(':'), body.size());
    const size_t bang = std::min(body.substr(0, colon).find('!'), colon);
    Value value = lookup_field(body.substr(0, bang));
    const std::string_view conversion = body.substr(bang, colon - bang);
    if (conversion == "!r") {
      std::string text;
      append_repr(value, text, jinja_.budget());
      value = jinja_.string(std::move(text), has_foreign(value));
    } else if (conversion == "!s") {
      value = jinja_.string(to_text(value, jinja_.budget()));
    } else if (!conversion.empty()) {
      raise("unknown conversion {}", conversion);
    }
    apply(value, colon < body.size() ? body.substr(colon + 1) : std::string_view());
    return end + 1;
  }

  Value lookup_field(std::string_view path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    const std::string_view first = path.substr(0, end);
    Value value;
    if (first.empty() || is_digit_byte(first[0])) {
      size_t at = 0;
      const size_t place = first.empty() ? next_++ : static_cast<size_t>(read_number(first, at));
      if (place >= positional_.size()) {
        raise("Replacement index {} out of range for positional args tuple", place);
      }
      value = positional_[place];
    } else {
      const Value* found = named_.entries().find(first);
      if (found == nullptr) raise("no argument named '{}'", first);
      value = *found;
    }
    path.remove_prefix(end);
    while (!path.empty()) {
      const bool is_item = path[0] == '[';
      const size_t stop = std::min(path.find_first_of(is_item ? "]" : ".[", 1), path.size());
      const std::string name(path.substr(1, stop - 1));
      size_t at = 0;
      const bool is_number = !name.empty() && is_digit_byte(name[0]);
      value = !is_item    ? jinja_.attribute(value, name)
              : is_number ? jinja_.item(value, Value::integer(read_number(name, at)))
                          : jinja_.item(value, jinja_.string(name));
      path.remove_prefix(std::min(stop + (is_item ? 1 : 0), path.size()));
    }
    return value;
  }

  void apply(const Value& value, std::string_view text) {
    Spec spec;
    size_t at = 0;
    const auto align_of = [](char c) -> std::optional<Align> {
      if (c == '<') return Align::Left;
      if (c == '>') return Align::Right;
      if (c == '^') return Align::Center;
      return std::nullopt;
    };
    if (!text.empty()) {
      const size_t size = utf8_decode_valid(text.data()).size;
      if (size < text.size() && align_of(text[size])) {
        spec.fill = Text(std::string(text.substr(0, size)));
        spec.align = align_of(text[size]);
        at = size + 1;
      } else if (align_of(text[0])) {
        spec.align = align_of(text[0]);
        at = 1;
      }
    }
    const auto skip = [&](char c) { return at < text.size() && text[at] == c && ++at != 0; };
    if (skip('+'))
      spec.sign = '+';
    else if (skip(' '))
      spec.sign = ' ';
    else
      (void)skip('-');
    spec.alternate = skip('#');
    if (skip('0') && !spec.align) spec.zero = true;
    spec.width = read_number(text, at);
    spec.commas = skip(',');
    if (skip('.')) spec.precision = static_cast<int>(read_number(text, at));
    if (at < text.size()) spec.type = text[at++];
    if (at != text.size()) raise("Invalid format specifier");
    const bool bool_as_text = value.is(Kind::Bool) && spec.type == 0;
    if (value.is_number() && spec.type != 's' && !bool_as_text) {
      return out_.append(number_text(value, spec, jinja_.budget()));
    }
    if (spec.type != 0 && spec.type != 's') {
      raise("Unknown format code '{}' for object of type '{}'", spec.type, type_name(value));
    }
    out_.append(string_text(to_text(value, jinja_.budget()), spec, jinja_.budget()));
  }

  Interpreter& jinja_;
  const Text& format_;
  std::string_view view_;
  std::span<const Value> positional_;
  const Value& named_;
  Text out_;
  size_t next_ = 0;
};

}  // namespace

Text printf_text(const Text& format, const Value& values, Budget& budget) {
  budget.spend_bytes(format.size());
  return Printf(format, values, budget).run();
}

Text format_text(Interpreter& jinja, const Text& format, std::span<const Value> positional,
                 const Value& named) {
  jinja.budget().spend_bytes(format.size());
  return Format(jinja, format, positional, named).run();
}

}  // namespace tenon::jinja
