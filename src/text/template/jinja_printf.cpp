#include "text/template/jinja_printf.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "text/template/jinja_characters.h"
#include "text/template/jinja_format.h"
#include "text/template/jinja_format_spec.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_operators.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace {

/// repr(value); ascii: escapes non-ASCII characters.
Text repr_text(const Value& value, bool ascii, Budget& budget) {
  std::string text;
  append_repr(value, text, budget);
  if (!ascii) return Text(std::move(text), has_foreign(value));
  std::string out;
  for (const Character c : Characters(text, budget)) {
    if (c.code < 0x80)
      out += static_cast<char>(c.code);
    else
      append_escaped(c.code, out);
  }
  budget.check_size(out.size());
  return Text(std::move(out), has_foreign(value));
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
    // Dicts may stay unused; lists and undefined values, too, if nothing was taken by position.
    const bool may_stay = values_.is(Kind::Dict) ||
                          (next_ == 0 && (values_.is(Kind::List) || values_.is(Kind::Undefined)));
    if (!all_used && !may_stay) raise("not all arguments converted during string formatting");
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

  /// Reads a width or a precision: digits, or '*' for an argument.
  int64_t number_at(size_t& at) {
    if (at >= view_.size() || view_[at] != '*') return read_number(view_, at);
    ++at;
    const Value value = next();
    if (!value.is_integral()) raise("* wants int");
    const int64_t number = value.as_integer();
    if (number > kMaxFormatWidth || number < -kMaxFormatWidth) {
      raise("a width of more than {}", kMaxFormatWidth);
    }
    return number;
  }

  void conversion(size_t& at) {
    budget_.spend(4);
    ++at;
    if (at < view_.size() && view_[at] == '%') {
      ++at;
      return out_.append("%", false);
    }
    FormatSpec spec;
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
    bool zero = false;
    for (; at < view_.size(); ++at) {
      const char c = view_[at];
      if (c == '-')
        spec.align = FormatSpec::Align::Left;
      else if (c == '+' || (c == ' ' && spec.sign == 0))
        spec.sign = c;
      else if (c == '0')
        zero = true;
      else if (c == '#')
        spec.alternate = true;
      else if (c != ' ')
        break;
    }
    spec.width = number_at(at);
    if (spec.width < 0) {
      spec.align = FormatSpec::Align::Left;
      spec.width = -spec.width;
    }
    if (at < view_.size() && view_[at] == '.') {
      spec.precision = static_cast<int>(std::max<int64_t>(number_at(++at), 0));
    }
    if (at < view_.size() && (view_[at] == 'l' || view_[at] == 'h' || view_[at] == 'L')) ++at;
    if (at >= view_.size()) raise("incomplete format");
    spec.type = view_[at++];
    const Value value = named ? *named : next();
    if (zero && !spec.align) {
      spec.fill = Text("0");
      spec.align = FormatSpec::Align::BehindSign;
    }
    out_.append(converted(value, std::move(spec)));
  }

  Text converted(const Value& value, FormatSpec spec) {
    if (value.is(Kind::String)) budget_.spend_bytes(value.text().size());
    switch (spec.type) {
      case 's':
        return cut(to_text(value, budget_), std::move(spec));
      case 'r':
      case 'a': {
        const bool ascii = spec.type == 'a';
        return cut(repr_text(value, ascii, budget_), std::move(spec));
      }
      case 'c':
        spec.precision = -1;
        return cut(character(value), std::move(spec));
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        spec.least_digits = std::exchange(spec.precision, -1);
        return integer_text(integer(value, spec.type), spec, budget_);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        require_number(value, spec.type);
        return real_text(value.as_real(), spec, budget_);
      default:
        raise("unsupported format character '{}'", spec.type);
    }
  }

  Text cut(const Text& text, FormatSpec spec) {
    if (spec.align == FormatSpec::Align::BehindSign) {  // zeros are for numbers
      spec.align = FormatSpec::Align::Right;
      spec.fill = Text(" ");
    }
    const size_t end = spec.precision < 0
                           ? text.size()
                           : character_offset(text.view(), static_cast<size_t>(spec.precision));
    return aligned_text(text.slice(0, end), spec, FormatSpec::Align::Right, budget_);
  }

  static Text character(const Value& value) {
    if (value.is(Kind::String) && count_characters(value.text().view()) == 1) return value.text();
    if (!value.is_integral()) raise("%c requires int or char");
    const int64_t code = value.as_integer();
    if (code < 0 || code > 0x10FFFF) raise("%c arg not in range(0x110000)");
    if (code >= 0xD800 && code < 0xE000) raise("the code {} is no character", code);
    std::string bytes;
    utf8_append(static_cast<uint32_t>(code), bytes);
    return Text(std::move(bytes));
  }

  static void require_number(const Value& value, char type) {
    require_defined(value);
    if (value.is_number()) return;
    raise("%{} format: a number is required, not {}", type, type_name(value));
  }

  static int64_t integer(const Value& value, char type) {
    require_number(value, type);
    if (value.is_integral()) return value.as_integer();
    if (type == 'x' || type == 'X' || type == 'o') {
      raise("%{} format: an integer is required, not float", type);
    }
    const double real = std::trunc(value.as_real());
    if (!(std::fabs(real) < 9.2e18)) raise("cannot convert the float to an integer of 64 bits");
    return static_cast<int64_t>(real);
  }

  const Text& format_;
  std::string_view view_;
  const Value& values_;
  Budget& budget_;
  Text out_;
  size_t next_ = 0;
};

class Format {
  enum class Numbering : uint8_t { None, Manual, Automatic };

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
      const size_t mark = std::min(brace('{', at, next_open_), brace('}', at, next_close_));
      out_.append(format_, at, mark);
      at = mark;
      jinja_.budget().check_size(out_.size());
      jinja_.budget().spend(4);
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
  /// Offset of the next brace at or after `at`, which only grows. `next` caches it, so that many
  /// braces of one kind do not repeat the search for the other.
  size_t brace(char which, size_t at, size_t& next) const {
    if (next == kUnknown || next < at) next = std::min(view_.find(which, at), view_.size());
    return next;
  }

  size_t field(size_t at) {
    const size_t end = end_of_field(at);
    const std::string_view body = view_.substr(at, end - at);
    const size_t colon = std::min(body.find(':'), body.size());
    const size_t bang = std::min(body.substr(0, colon).find('!'), colon);
    Value value = lookup_field(body.substr(0, bang));
    const std::string_view conversion = body.substr(bang, colon - bang);
    if (conversion == "!r" || conversion == "!a") {
      value = jinja_.string(repr_text(value, conversion == "!a", jinja_.budget()));
    } else if (conversion == "!s") {
      value = jinja_.string(to_text(value, jinja_.budget()));
    } else if (!conversion.empty()) {
      raise("unknown conversion {}", conversion);
    }
    const std::string_view spec = colon < body.size() ? body.substr(colon + 1) : std::string_view();
    // Replace nested fields first.
    if (value.is(Kind::String)) jinja_.budget().spend_bytes(value.text().size());
    out_.append(formatted(value, filled(spec), jinja_.budget()));
    return end + 1;
  }

  /// Offset of the '}' that ends the field beginning at `at`.
  [[nodiscard]] size_t end_of_field(size_t at) const {
    for (size_t open = 1; at < view_.size(); ++at) {
      if (view_[at] == '{') ++open;
      if (view_[at] == '}' && --open == 0) return at;
    }
    raise("expected '}}' before end of string");
  }

  std::string filled(std::string_view spec) {
    if (spec.find('{') == spec.npos) return std::string(spec);
    if (is_inner_) raise("Max string recursion exceeded");
    const Text inner{std::string(spec)};
    Format format(jinja_, inner, positional_, named_);
    format.is_inner_ = true;
    format.next_ = next_;
    format.numbered_ = numbered_;
    std::string out = format.run().bytes();
    next_ = format.next_;
    return out;
  }

  Value lookup_field(std::string_view path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    const std::string_view first = path.substr(0, end);
    Value value;
    const bool is_place = !first.empty() && first.find_first_not_of("0123456789") == first.npos;
    if (first.empty() || is_place) {
      const Numbering wanted = is_place ? Numbering::Manual : Numbering::Automatic;
      if (numbered_ != Numbering::None && numbered_ != wanted) {
        raise("cannot switch between manual and automatic field numbering");
      }
      numbered_ = wanted;
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
      if (!is_item && path[0] != '.')
        raise("Only '.' or '[' may follow ']' in format field specifier");
      const size_t stop = std::min(path.find_first_of(is_item ? "]" : ".[", 1), path.size());
      if (is_item && stop == path.size()) raise("Missing ']' in format string");
      const std::string name(path.substr(1, stop - 1));
      size_t at = 0;
      if (name.empty()) raise("Empty attribute in format string");
      const bool is_number = name.find_first_not_of("0123456789") == name.npos;
      value = !is_item    ? jinja_.attribute(value, name)
              : is_number ? jinja_.item(value, Value::integer(read_number(name, at)))
                          : jinja_.item(value, jinja_.string(name));
      path.remove_prefix(std::min(stop + (is_item ? 1 : 0), path.size()));
    }
    return value;
  }

  Interpreter& jinja_;
  const Text& format_;
  std::string_view view_;
  std::span<const Value> positional_;
  const Value& named_;
  Text out_;
  static constexpr size_t kUnknown = std::string_view::npos;
  size_t next_open_ = kUnknown;
  size_t next_close_ = kUnknown;
  size_t next_ = 0;
  Numbering numbered_ = Numbering::None;
  bool is_inner_ = false;
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
