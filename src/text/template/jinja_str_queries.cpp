// Methods of str that find, count and classify.
#include <algorithm>
#include <array>

#include "text/template/jinja_builtins.h"
#include "text/template/jinja_characters.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_operators.h"
#include "text/template/jinja_text_tools.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace str_queries_table {
namespace {

using Args = std::span<const Value>;

/// The part of a text between two character indices, and its start.
struct Part {
  std::string_view text;
  size_t characters_before;
  bool is_nowhere = false;  ///< begins after its end: contains not even the empty text
};

Part part_of(Interpreter& jinja, const Value& self, const Value& begin, const Value& end) {
  const std::string_view view = self.text().view();
  jinja.budget().spend_bytes(view.size());
  const auto given = [](const Value& v) { return !v.is(Kind::Absent) && !v.is(Kind::None); };
  if (!given(begin) && !given(end)) return {view, 0};
  const auto count = static_cast<int64_t>(count_characters(view));
  const auto place = [&](const Value& value, int64_t otherwise) {
    if (!given(value)) return otherwise;
    const int64_t index = std::clamp(integer_of(value), -count, count + 1);
    return index < 0 ? index + count : index;
  };
  const int64_t from = place(begin, 0);
  const int64_t to = std::min(place(end, count), count);
  if (from > to) return {.text = {}, .characters_before = 0, .is_nowhere = true};
  const size_t first = character_offset(view, static_cast<size_t>(from));
  const size_t size = character_offset(view.substr(first), static_cast<size_t>(to - from));
  return {view.substr(first, size), static_cast<size_t>(from)};
}

bool matches(Interpreter& jinja, const Value& what,
             const std::function<bool(std::string_view)>& test) {
  const auto tested = [&](const Value& option) {
    jinja.budget().spend_bytes(text_of(option).size());
    return test(option.text().view());
  };
  if (!what.is(Kind::Tuple)) return tested(what);
  const std::vector<Value>& options = what.items().values;
  return std::any_of(options.begin(), options.end(), tested);
}

Value startswith(Interpreter& jinja, const Value& self, Args args) {
  const Part part = part_of(jinja, self, args[1], args[2]);
  return Value::boolean(matches(jinja, args[0], [&](std::string_view text) {
    return !part.is_nowhere && part.text.starts_with(text);
  }));
}
Value endswith(Interpreter& jinja, const Value& self, Args args) {
  const Part part = part_of(jinja, self, args[1], args[2]);
  return Value::boolean(matches(jinja, args[0], [&](std::string_view text) {
    return !part.is_nowhere && part.text.ends_with(text);
  }));
}

int64_t place_of(const Part& part, size_t found) {
  if (found == std::string_view::npos || part.is_nowhere) return -1;
  return static_cast<int64_t>(part.characters_before +
                              count_characters(part.text.substr(0, found)));
}
Value find(Interpreter& jinja, const Value& self, Args args) {
  const Part part = part_of(jinja, self, args[1], args[2]);
  return Value::integer(
      place_of(part, find_text(part.text, text_of(args[0]).view(), 0, jinja.budget())));
}
Value rfind(Interpreter& jinja, const Value& self, Args args) {
  const Part part = part_of(jinja, self, args[1], args[2]);
  return Value::integer(
      place_of(part, rfind_text(part.text, text_of(args[0]).view(), jinja.budget())));
}
Value index(Interpreter& jinja, const Value& self, Args args) {
  const Value found = find(jinja, self, args);
  if (found.as_integer() < 0) raise("substring not found");
  return found;
}
Value rindex(Interpreter& jinja, const Value& self, Args args) {
  const Value found = rfind(jinja, self, args);
  if (found.as_integer() < 0) raise("substring not found");
  return found;
}

Value count(Interpreter& jinja, const Value& self, Args args) {
  const Part part = part_of(jinja, self, args[1], args[2]);
  const std::string_view what = text_of(args[0]).view();
  if (part.is_nowhere) return Value::integer(0);
  if (what.empty()) return Value::integer(static_cast<int64_t>(count_characters(part.text)) + 1);
  int64_t times = 0;
  for (size_t at = find_text(part.text, what, 0, jinja.budget()); at != std::string_view::npos;
       at = find_text(part.text, what, at + what.size(), jinja.budget())) {
    ++times;
  }
  return Value::integer(times);
}

/// True if the text is not empty and all its characters are of a kind.
template <bool (*IsOfKind)(uint32_t)>
Value all_are(Interpreter& jinja, const Value& self, Args) {
  const std::string_view view = self.text().view();
  for (const Character c : Characters(view, jinja.budget())) {
    if (!IsOfKind(c.code)) return Value::boolean(false);
  }
  return Value::boolean(!view.empty());
}

bool is_alnum(uint32_t code) { return is_alpha(code) || is_numeric(code); }
bool is_ascii(uint32_t code) { return code < 128; }

/// True if some letter has the wanted case and none has the other.
template <bool (*IsWanted)(uint32_t), bool (*IsOther)(uint32_t)>
Value one_case(Interpreter& jinja, const Value& self, Args) {
  bool any = false;
  for (const Character c : Characters(self.text().view(), jinja.budget())) {
    if (IsOther(c.code) || is_title(c.code)) return Value::boolean(false);
    any |= IsWanted(c.code);
  }
  return Value::boolean(any);
}

Value istitle(Interpreter& jinja, const Value& self, Args) {
  bool after_letter = false;
  bool any = false;
  for (const Character c : Characters(self.text().view(), jinja.budget())) {
    const bool big = is_upper(c.code) || is_title(c.code);
    if ((big && after_letter) || (is_lower(c.code) && !after_letter)) return Value::boolean(false);
    after_letter = big || is_lower(c.code);
    any |= after_letter;
  }
  return Value::boolean(any);
}

Value isidentifier(Interpreter& jinja, const Value& self, Args) {
  const std::string_view view = self.text().view();
  for (const Character c : Characters(view, jinja.budget())) {
    const bool fits = is_alpha(c.code) || c.code == '_' || (c.begin > 0 && is_decimal(c.code));
    if (!fits) return Value::boolean(false);
  }
  return Value::boolean(!view.empty());
}

template <bool (*IsOfKind)(uint32_t)>
Value none_is_other(Interpreter& jinja, const Value& self, Args args) {
  if (self.text().empty()) return Value::boolean(true);
  return all_are<IsOfKind>(jinja, self, args);
}

constexpr std::array kMethods = {
    Builtin{"startswith", "prefix,start,end,/", 1, startswith},
    Builtin{"endswith", "suffix,start,end,/", 1, endswith},
    Builtin{"find", "sub,start,end,/", 1, find},
    Builtin{"rfind", "sub,start,end,/", 1, rfind},
    Builtin{"index", "sub,start,end,/", 1, index},
    Builtin{"rindex", "sub,start,end,/", 1, rindex},
    Builtin{"count", "sub,start,end,/", 1, count},
    Builtin{"isdigit", "", 0, all_are<is_digit>},
    Builtin{"isdecimal", "", 0, all_are<is_decimal>},
    Builtin{"isnumeric", "", 0, all_are<is_numeric>},
    Builtin{"isalpha", "", 0, all_are<is_alpha>},
    Builtin{"isalnum", "", 0, all_are<is_alnum>},
    Builtin{"isspace", "", 0, all_are<is_space>},
    Builtin{"isprintable", "", 0, none_is_other<is_printable>},
    Builtin{"isascii", "", 0, none_is_other<is_ascii>},
    Builtin{"isupper", "", 0, one_case<is_upper, is_lower>},
    Builtin{"islower", "", 0, one_case<is_lower, is_upper>},
    Builtin{"istitle", "", 0, istitle},
    Builtin{"isidentifier", "", 0, isidentifier},
};

}  // namespace
}  // namespace str_queries_table

std::span<const Builtin> str_queries() { return str_queries_table::kMethods; }

}  // namespace tenon::jinja
