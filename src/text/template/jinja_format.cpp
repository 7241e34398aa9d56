#include "text/template/jinja_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/template/jinja_characters.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_operators.h"
#include "text/unicode/json_escapes.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace {

void append_string_repr(std::string_view text, std::string& out, Budget& budget) {
  const bool double_quoted = text.find('\'') != text.npos && text.find('"') == text.npos;
  const char quote = double_quoted ? '"' : '\'';
  out += quote;
  for (const Character c : Characters(text, budget)) {
    const std::string_view bytes = text.substr(c.begin, c.end - c.begin);
    budget.check_size(out.size());
    if (c.code == static_cast<uint32_t>(quote) || c.code == '\\') {
      out += '\\';
      out += bytes;
    } else if (c.code == '\n' || c.code == '\r' || c.code == '\t') {
      out += c.code == '\n' ? "\\n" : c.code == '\r' ? "\\r" : "\\t";
    } else if (is_printable(c.code)) {
      out += bytes;
    } else {
      append_escaped(c.code, out);
    }
  }
  out += quote;
}

void append_items(const std::vector<Value>& values, std::string& out, Budget& budget) {
  bool first = true;
  for (const Value& value : values) {
    if (!first) out += ", ";
    first = false;
    append_repr(value, out, budget);
  }
}

void append_range(const Sequence& range, std::string& out) {
  const auto& [begin, end, step] = range.range;
  out += fmt::format("range({}, {}", begin, end);
  out += step == 1 ? ")" : fmt::format(", {})", step);
}

/// Depth to which nested namespaces are printed; they may contain each other.
constexpr uint32_t kMaxShownNamespaces = 4;

void append_namespace(const Namespace& space, std::string& out, Budget& budget) {
  if (space.shown) {
    out += "<Namespace {...}>";
    return;
  }
  struct Shown {
    const Namespace& space;
    Budget& budget;
    Shown(const Namespace& s, Budget& b) : space(s), budget(b) {
      if (++budget.shown_namespaces > kMaxShownNamespaces)
        raise("namespaces nest too deep to be shown");
      space.shown = true;
    }
    ~Shown() {
      space.shown = false;
      --budget.shown_namespaces;
    }
  } const shown{space, budget};
  out += "<Namespace {";
  bool first = true;
  for (const auto& [name, held] : space.attributes) {
    if (!first) out += ", ";
    first = false;
    append_string_repr(name, out, budget);
    out += ": ";
    append_repr(held, out, budget);
  }
  out += "}>";
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Budget& budget) : style_(style), budget_(budget) {}

  void write(const Value& value) {
    budget_.spend();
    budget_.check_size(out.size());
    switch (value.kind()) {
      case Kind::None:
        out += "null";
        return;
      case Kind::Bool:
        out += value.as_integer() != 0 ? "true" : "false";
        return;
      case Kind::Int:
        out += std::to_string(value.as_integer());
        return;
      case Kind::Float:
        out += value.digits() != nullptr ? *value.digits() : json_real(value.as_real());
        return;
      case Kind::String:
        return string(value.text().view());
      case Kind::List:
      case Kind::Tuple:
        if (value.items().is_range) raise("Object of type range is not JSON serializable");
        return list(value.items().values);
      case Kind::Dict:
        return dict(value.entries());
      default:
        raise("Object of type {} is not JSON serializable", type_name(value));
    }
  }

  std::string out;

 private:
  static std::string json_real(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return real_text(value);
  }

  void string(std::string_view text) {
    out += '"';
    for (const Character c : Characters(text, budget_)) {
      budget_.check_size(out.size());
      character(c.code, text.substr(c.begin, c.end - c.begin));
    }
    out += '"';
  }

  void character(uint32_t code, std::string_view bytes) {
    if (code < 0x80 && needs_json_escape(static_cast<char>(code))) {
      out += json_escape(static_cast<char>(code));
    } else if (!style_.ensure_ascii || code < 0x7F) {
      out += bytes;
    } else if (code < 0x10000) {
      append_json_unit(code, out);
    } else {
      append_json_unit(0xD800 + ((code - 0x10000) >> 10), out);
      append_json_unit(0xDC00 + (code & 0x3FF), out);
    }
  }

  void separate(std::string_view separator) {
    budget_.spend_bytes(separator.size());
    out += separator;
    budget_.check_size(out.size());
  }

  void line() {
    if (style_.one_line) return;
    out += '\n';
    budget_.check_size(out.size() + style_.indent.size() * depth_);
    budget_.spend_bytes(style_.indent.size() * depth_);
    for (uint32_t i = 0; i < depth_; ++i) out += style_.indent;
  }

  void list(const std::vector<Value>& values) {
    if (values.empty()) {
      out += "[]";
      return;
    }
    out += '[';
    ++depth_;
    bool first = true;
    for (const Value& value : values) {
      if (!first) separate(style_.item_separator);
      first = false;
      line();
      write(value);
    }
    --depth_;
    line();
    out += ']';
  }

  void key(const Value& name) {
    switch (name.kind()) {
      case Kind::String:
        return string(name.text().view());
      case Kind::None:
        out += "\"null\"";
        return;
      case Kind::Bool:
      case Kind::Int:
      case Kind::Float:
        out += '"';
        write(name);
        out += '"';
        return;
      default:
        raise("keys must be str, int, float, bool or None, not {}", type_name(name));
    }
  }

  void dict(const Dict& value) {
    if (value.entries.empty()) {
      out += "{}";
      return;
    }
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : value.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [this](const auto* a, const auto* b) {
        return order(a->first, b->first, budget_) < 0;
      });
    }
    out += '{';
    ++depth_;
    bool first = true;
    for (const auto* entry : entries) {
      if (!first) separate(style_.item_separator);
      first = false;
      line();
      key(entry->first);
      separate(style_.key_separator);
      write(entry->second);
    }
    --depth_;
    line();
    out += '}';
  }

  const JsonStyle& style_;
  Budget& budget_;
  uint32_t depth_ = 0;
};

}  // namespace

void append_escaped(uint32_t code, std::string& out) {
  if (code < 0x100)
    out += fmt::format("\\x{:02x}", code);
  else if (code < 0x10000)
    out += fmt::format("\\u{:04x}", code);
  else
    out += fmt::format("\\U{:08x}", code);
}

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));
  const size_t mark = text.find('e');
  int exponent = 0;
  const char* digits_of_exponent = text.data() + mark + 1 + (text[mark + 1] == '+' ? 1 : 0);
  std::from_chars(digits_of_exponent, end.ptr, exponent);
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}e{}{:02}", text.substr(0, mark), exponent < 0 ? '-' : '+',
                       std::abs(exponent));
  }
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  std::string out(buffer.data(), fixed.ptr);
  if (out.find('.') == out.npos) out += ".0";
  return out;
}

void append_repr(const Value& value, std::string& out, Budget& budget) {
  budget.spend();
  budget.check_size(out.size());
  switch (value.kind()) {
    case Kind::Absent:
    case Kind::Undefined:
      out += "Undefined";
      return;
    case Kind::None:
      out += "None";
      return;
    case Kind::Bool:
      out += value.as_integer() != 0 ? "True" : "False";
      return;
    case Kind::Int:
      out += std::to_string(value.as_integer());
      return;
    case Kind::Float:
      out += value.digits() != nullptr ? *value.digits() : real_text(value.as_real());
      return;
    case Kind::String:
      if (value.is_markup()) out += "Markup(";
      append_string_repr(value.text().view(), out, budget);
      if (value.is_markup()) out += ')';
      return;
    case Kind::List:
      if (value.items().is_range) return append_range(value.items(), out);
      out += '[';
      append_items(value.items().values, out, budget);
      out += ']';
      return;
    case Kind::Tuple:
      out += '(';
      append_items(value.items().values, out, budget);
      out += value.items().values.size() == 1 ? ",)" : ")";
      return;
    case Kind::View:
      out += value.items().type;
      out += "([";
      append_items(value.items().values, out, budget);
      out += "])";
      return;
    case Kind::Dict: {
      out += '{';
      bool first = true;
      for (const auto& [key, item] : value.entries().entries) {
        if (!first) out += ", ";
        first = false;
        append_repr(key, out, budget);
        out += ": ";
        append_repr(item, out, budget);
      }
      out += '}';
      return;
    }
    case Kind::Namespace:
      return append_namespace(value.name_space(), out, budget);
    case Kind::Macro: {
      const Signature& signature = *static_cast<const MacroObject&>(*value.pointer()).signature;
      out += "<Macro ";
      if (signature.name == kCallerName)
        out += "anonymous";
      else
        append_string_repr(signature.name, out, budget);
      out += '>';
      return;
    }
    default:
      out += fmt::format("<{} object>", type_name(value));
  }
}

Text to_text(const Value& value, Budget& budget) {
  if (value.is(Kind::String)) return value.text();
  if (value.is(Kind::Undefined) || value.is(Kind::Absent)) return Text();
  const bool is_refused = value.is(Kind::Method) &&
                          static_cast<const MethodObject&>(*value.pointer()).builtin == nullptr;
  if (is_refused) return Text();
  std::string out;
  append_repr(value, out, budget);
  budget.check_size(out.size());
  return Text(std::move(out), has_foreign(value));
}

bool has_foreign(const Value& value) { return extent_of(value).foreign; }

Text to_json(const Value& value, const JsonStyle& style, Budget& budget) {
  JsonWriter writer(style, budget);
  writer.write(value);
  budget.check_size(writer.out.size());
  return Text(std::move(writer.out), has_foreign(value));
}

}  // namespace tenon::jinja
