// Filters that return strings.
#include <algorithm>
#include <array>

#include "text/template/jinja_builtins.h"
#include "text/template/jinja_characters.h"
#include "text/template/jinja_format.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_markup.h"
#include "text/template/jinja_operators.h"
#include "text/template/jinja_printf.h"
#include "text/template/jinja_text_tools.h"
#include "text/template/jinja_wordwrap.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace text_filters_table {
namespace {

using Args = std::span<const Value>;

bool given(const Value& value) { return !value.is(Kind::Absent) && !value.is(Kind::None); }

Text soft(Interpreter& jinja, const Value& self) {
  Text text = to_text(self, jinja.budget());
  jinja.budget().spend_bytes(text.size());
  return text;
}

Value to_upper_case(Interpreter& jinja, const Value& self, Args) {
  return jinja.string(upper(soft(jinja, self), jinja.budget()));
}
Value to_lower_case(Interpreter& jinja, const Value& self, Args) {
  return jinja.string(lower(soft(jinja, self), jinja.budget()));
}
Value capitalize(Interpreter& jinja, const Value& self, Args) {
  return jinja.string(capitalized(soft(jinja, self), jinja.budget()));
}

Value title(Interpreter& jinja, const Value& self, Args) {
  // These characters begin a word; letters elsewhere are lowercase.
  bool begins = true;
  const auto append = [&begins](uint32_t code, bool, std::string& out) {
    if (begins)
      append_upper(code, out);
    else
      append_lower(code, out);
    begins =
        is_space(code) || code == '-' || code == '(' || code == '{' || code == '[' || code == '<';
  };
  return jinja.string(mapped(soft(jinja, self), jinja.budget(), append));
}

Value trim(Interpreter& jinja, const Value& self, Args args) {
  return jinja.string(stripped(soft(jinja, self), args[0], true, true, jinja.budget()));
}

Value replace(Interpreter& jinja, const Value& self, Args args) {
  const int64_t count = given(args[2]) ? integer_of(args[2]) : -1;
  return jinja.string(replaced(soft(jinja, self), to_text(args[0], jinja.budget()),
                               to_text(args[1], jinja.budget()), count, jinja.budget()));
}

Value string(Interpreter& jinja, const Value& self, Args) {
  if (self.is(Kind::String)) return self;
  return jinja.string(to_text(self, jinja.budget()));
}

Value safe(Interpreter& jinja, const Value& self, Args) {
  return Value::markup(to_text(self, jinja.budget()), &jinja.budget());
}
Value escape(Interpreter& jinja, const Value& self, Args) {
  return Value::markup(markup_text(self, jinja.budget()), &jinja.budget());
}
Value forceescape(Interpreter& jinja, const Value& self, Args) {
  return Value::markup(escaped(soft(jinja, self), jinja.budget()), &jinja.budget());
}

Value indent(Interpreter& jinja, const Value& self, Args args) {
  Text margin;
  if (args[0].is(Kind::String)) {
    margin = args[0].text();
  } else {
    const int64_t width = args[0].is(Kind::Absent) ? 4 : integer_of(args[0]);
    margin = padded(Text(), width, Align::Left, Text(" "), jinja.budget());
  }
  Text text = text_of(self);
  text.append("\n", false);
  const bool blank = truth(args[2]);
  Text out;
  if (truth(args[1])) out.append(margin);
  bool is_first = true;
  for_each_line(text, false, jinja.budget(), [&](const Text& line) {
    if (!is_first) out.append("\n", false);
    jinja.budget().check_size(out.size() + margin.size() + line.size());
    jinja.budget().spend_bytes(margin.size() + line.size());
    if (!is_first && (blank || !line.empty())) out.append(margin);
    out.append(line);
    is_first = false;
  });
  return jinja.string(std::move(out));
}

Value truncate(Interpreter& jinja, const Value& self, Args args) {
  const int64_t limit = args[0].is(Kind::Absent) ? 255 : integer_of(args[0]);
  const Text end = args[2].is(Kind::Absent) ? Text("...") : text_of(args[2]);
  const int64_t leeway = given(args[3]) ? integer_of(args[3]) : 5;
  const auto size = static_cast<int64_t>(length(self));
  const auto end_size = static_cast<int64_t>(count_characters(end.view()));
  if (limit < end_size) raise("expected length >= {}, got {}", end_size, limit);
  if (leeway < 0) raise("expected leeway >= 0, got {}", leeway);
  if (size <= limit || size - limit <= leeway) return self;
  const Text& text = text_of(self);
  Text out = text.slice(0, character_offset(text.view(), static_cast<size_t>(limit - end_size)));
  if (!truth(args[1])) {
    const size_t space = out.view().rfind(' ');
    if (space != std::string_view::npos) out = out.slice(0, space);
  }
  out.append(end);
  return jinja.string(std::move(out));
}

Value wordcount(Interpreter& jinja, const Value& self, Args) {
  const Text text = soft(jinja, self);
  int64_t words = 0;
  bool inside = false;
  for (const Character c : Characters(text.view(), jinja.budget())) {
    const bool is_word = is_alpha(c.code) || is_numeric(c.code) || c.code == '_';
    words += is_word && !inside ? 1 : 0;
    inside = is_word;
  }
  return Value::integer(words);
}

Value wordwrap(Interpreter& jinja, const Value& self, Args args) {
  const int64_t width = args[0].is(Kind::Absent) ? 79 : integer_of(args[0]);
  const auto flag = [&](const Value& value) { return value.is(Kind::Absent) || truth(value); };
  const WrapStyle style{static_cast<uint64_t>(width), flag(args[1]), flag(args[3])};
  const Text between = given(args[2]) ? text_of(args[2]) : Text("\n");
  Text out;
  bool first = true;
  for_each_line(text_of(self), false, jinja.budget(), [&](const Text& paragraph) {
    if (width <= 0) raise("invalid width {} (must be > 0)", width);
    const std::vector<Text> lines = wrapped(paragraph, style, jinja.budget());
    // An empty paragraph is still a line.
    for (size_t i = 0; i < std::max<size_t>(lines.size(), 1); ++i) {
      jinja.budget().spend_bytes(between.size());
      if (!first) out.append(between);
      if (i < lines.size()) out.append(lines[i]);
      first = false;
      jinja.budget().check_size(out.size());
    }
  });
  return jinja.string(std::move(out));
}

Value center(Interpreter& jinja, const Value& self, Args args) {
  const int64_t width = args[0].is(Kind::Absent) ? 80 : integer_of(args[0]);
  return jinja.string(padded(soft(jinja, self), width, Align::Center, Text(" "), jinja.budget()));
}

Value striptags(Interpreter& jinja, const Value& self, Args) {
  const Text text = soft(jinja, self);
  Text out;
  size_t done = 0;
  Budget& budget = jinja.budget();
  for (size_t open; (open = find_text(text.view(), "<", done, budget)) != std::string_view::npos;) {
    const bool is_comment = text.view().substr(open).starts_with("<!--");
    const size_t close = find_text(text.view(), is_comment ? "-->" : ">", open, budget);
    if (close == std::string_view::npos) break;
    out.append(text, done, open);
    done = close + (is_comment ? 3 : 1);
  }
  out.append(text, done, text.size());
  // Replace runs of white space by a space.
  Text joined;
  for (size_t at = leading_space(out.view(), &budget); at < out.size();) {
    const size_t end = end_of_word(out.view(), at, budget);
    if (!joined.empty()) joined.append(" ", false);
    joined.append(out, at, end);
    at = end + leading_space(out.view().substr(end), &budget);
  }
  return jinja.string(std::move(joined));
}

/// Percent-encodes a value. in_query: encodes "/" as %2F and a space as "+".
Text url_quoted(Interpreter& jinja, const Value& value, bool in_query) {
  const Text text = soft(jinja, value);
  const std::string_view kept_marks = in_query ? "_.-~" : "_.-~/";
  std::string out;
  for (const char c : text.view()) {
    jinja.budget().spend_character();
    jinja.budget().check_size(out.size());
    const bool kept = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
                      kept_marks.find(c) != kept_marks.npos;
    if (kept)
      out += c;
    else if (in_query && c == ' ')
      out += '+';
    else
      out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
  }
  return Text(std::move(out), text.has_foreign());
}

Value urlencode(Interpreter& jinja, const Value& self, Args) {
  const bool has_pairs = self.is_sequence() || self.is(Kind::Dict) || self.is(Kind::Undefined);
  if (!has_pairs) return jinja.string(url_quoted(jinja, self, false));
  Text out;
  const auto add = [&](const Value& name, const Value& value) {
    if (!out.empty()) out.append("&", false);
    out.append(url_quoted(jinja, name, true));
    out.append("=", false);
    out.append(url_quoted(jinja, value, true));
    jinja.budget().check_size(out.size());
  };
  if (self.is(Kind::Dict)) {
    for (const auto& [name, value] : self.entries().entries) add(name, value);
    return jinja.string(std::move(out));
  }
  for (const Value& pair : iterate(self, jinja.budget())) {
    const std::vector<Value> parts = iterate(pair, jinja.budget());
    if (parts.size() != 2) raise("{} values to unpack, expected 2", parts.size());
    add(parts[0], parts[1]);
  }
  return jinja.string(std::move(out));
}

/// Writes entries of a dict as name="value"; leaves out None and undefined values.
Value xmlattr(Interpreter& jinja, const Value& self, Args args) {
  require_defined(self);
  if (!self.is(Kind::Dict)) raise("'{}' object has no attribute 'items'", type_name(self));
  Text out;
  for (const auto& [name, value] : self.entries().entries) {
    if (value.is(Kind::None) || value.is(Kind::Undefined)) continue;
    if (text_of(name).view().find_first_of(" \t\n\f\r/>=") != std::string_view::npos) {
      raise("Invalid character in attribute name: {}", name.text().view());
    }
    if (!out.empty()) out.append(" ", false);
    out.append(markup_text(name, jinja.budget()));
    out.append("=\"", false);
    out.append(markup_text(value, jinja.budget()));
    out.append("\"", false);
    jinja.budget().check_size(out.size());
  }
  const bool has_space = args[0].is(Kind::Absent) || truth(args[0]);
  Text spaced(has_space && !out.empty() ? " " : "");
  spaced.append(out);
  return jinja.string(std::move(spaced));
}

Value format(Interpreter& jinja, const Value& self, Args args) {
  const Value& named = args.back();
  if (args.size() > 1 && truth(named)) {
    raise("can't handle positional and keyword arguments at the same time");
  }
  std::vector<Value> positional(args.begin(), args.end() - 1);
  const Value values = truth(named) ? named : jinja.list(std::move(positional), Kind::Tuple);
  return binary(Op::Modulo, self.is(Kind::String) ? self : string(jinja, self, {}), values,
                jinja.budget());
}

Value tojson(Interpreter& jinja, const Value& self, Args args) {
  JsonStyle style;
  style.ensure_ascii = truth(args[0]);
  if (given(args[1])) {
    style.one_line = false;
    style.item_separator.assign(1, ',');
    if (args[1].is(Kind::String)) {
      style.indent = args[1].text().bytes();
    } else {
      const int64_t width = std::max<int64_t>(integer_of(args[1]), 0);
      if (width > 1024) raise("an indent of {}, the limit is 1024", width);
      style.indent.assign(static_cast<size_t>(width), ' ');
    }
  }
  if (given(args[2])) {
    const std::vector<Value> separators = iterate(args[2], jinja.budget());
    if (separators.size() != 2) raise("separators must be two strings");
    style.item_separator = text_of(separators[0]).bytes();
    style.key_separator = text_of(separators[1]).bytes();
  }
  style.sort_keys = truth(args[3]);
  return jinja.string(to_json(self, style, jinja.budget()));
}

constexpr std::array kFilters = {
    Builtin{"upper", "", 0, to_upper_case},
    Builtin{"lower", "", 0, to_lower_case},
    Builtin{"capitalize", "", 0, capitalize},
    Builtin{"title", "", 0, title},
    Builtin{"trim", "chars", 0, trim},
    Builtin{"replace", "old,new,count", 2, replace},
    Builtin{"string", "", 0, string},
    Builtin{"safe", "", 0, safe},
    Builtin{"escape", "", 0, escape},
    Builtin{"e", "", 0, escape},
    Builtin{"forceescape", "", 0, forceescape},
    Builtin{"indent", "width,first,blank", 0, indent},
    Builtin{"truncate", "length,killwords,end,leeway", 0, truncate},
    Builtin{"wordcount", "", 0, wordcount},
    Builtin{"wordwrap", "width,break_long_words,wrapstring,break_on_hyphens", 0, wordwrap},
    Builtin{"center", "width", 0, center},
    Builtin{"striptags", "", 0, striptags},
    Builtin{"urlencode", "", 0, urlencode},
    Builtin{"xmlattr", "autospace", 0, xmlattr},
    Builtin{"format", "*,**", 0, format},
    Builtin{"tojson", "ensure_ascii,indent,separators,sort_keys", 0, tojson},
};

}  // namespace
}  // namespace text_filters_table

std::span<const Builtin> text_filters() { return text_filters_table::kFilters; }

}  // namespace tenon::jinja
