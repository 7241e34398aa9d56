// Methods of str that return strings and lists.
#include <algorithm>
#include <array>

#include "text/template/jinja_builtins.h"
#include "text/template/jinja_characters.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_operators.h"
#include "text/template/jinja_printf.h"
#include "text/template/jinja_text_tools.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace str_methods_table {
namespace {

using Args = std::span<const Value>;

bool given(const Value& value) { return !value.is(Kind::Absent) && !value.is(Kind::None); }

Value strip(Interpreter& jinja, const Value& self, Args args) {
  return jinja.string(stripped(self.text(), args[0], true, true, jinja.budget()));
}
Value lstrip(Interpreter& jinja, const Value& self, Args args) {
  return jinja.string(stripped(self.text(), args[0], true, false, jinja.budget()));
}
Value rstrip(Interpreter& jinja, const Value& self, Args args) {
  return jinja.string(stripped(self.text(), args[0], false, true, jinja.budget()));
}

/// Splits at white space, at most `limit` times (negative means no limit).
std::vector<Value> words_of(Interpreter& jinja, const Text& text, int64_t limit) {
  std::vector<Value> out;
  const std::string_view view = text.view();
  size_t at = leading_space(view, &jinja.budget());
  while (at < view.size()) {
    if (limit-- == 0) {
      out.push_back(jinja.string(text.slice(at, view.size())));
      break;
    }
    const size_t end = end_of_word(view, at, jinja.budget());
    out.push_back(jinja.string(text.slice(at, end)));
    at = end + leading_space(view.substr(end), &jinja.budget());
  }
  return out;
}

std::vector<Value> words_from_right(Interpreter& jinja, const Text& text, int64_t limit) {
  std::vector<Value> out;
  const std::string_view view = text.view();
  size_t end = view.size() - trailing_space(view, &jinja.budget());
  while (end > 0) {
    if (limit-- == 0) {
      out.push_back(jinja.string(text.slice(0, end)));
      break;
    }
    size_t begin = end;
    while (begin > 0) {
      jinja.budget().spend_character();
      size_t previous = begin - 1;
      while (previous > 0 && utf8_continues(view[previous])) --previous;
      if (is_space(utf8_decode_valid(view.data() + previous).code)) break;
      begin = previous;
    }
    out.push_back(jinja.string(text.slice(begin, end)));
    end = begin - trailing_space(view.substr(0, begin), &jinja.budget());
  }
  std::reverse(out.begin(), out.end());
  return out;
}

int64_t limit_of(const Value& value) { return value.is(Kind::Absent) ? -1 : integer_of(value); }

Value split(Interpreter& jinja, const Value& self, Args args) {
  const Text& text = self.text();
  jinja.budget().spend_bytes(text.size());
  int64_t limit = limit_of(args[1]);
  if (!given(args[0])) return jinja.list(words_of(jinja, text, limit));
  const Text& separator = text_of(args[0]);
  if (separator.empty()) raise("empty separator");
  std::vector<Value> out;
  size_t begin = 0;
  while (limit != 0) {
    const size_t found = find_text(text.view(), separator.view(), begin, jinja.budget());
    if (found == std::string_view::npos) break;
    out.push_back(jinja.string(text.slice(begin, found)));
    begin = found + separator.size();
    --limit;
  }
  out.push_back(jinja.string(text.slice(begin, text.size())));
  return jinja.list(std::move(out));
}

Value rsplit(Interpreter& jinja, const Value& self, Args args) {
  const Text& text = self.text();
  jinja.budget().spend_bytes(text.size());
  int64_t limit = limit_of(args[1]);
  if (!given(args[0])) return jinja.list(words_from_right(jinja, text, limit));
  const Text& separator = text_of(args[0]);
  if (separator.empty()) raise("empty separator");
  std::vector<Value> out;
  size_t end = text.size();
  while (limit != 0 && end >= separator.size()) {
    const size_t found = rfind_text(text.view().substr(0, end), separator.view(), jinja.budget());
    if (found == std::string_view::npos) break;
    out.push_back(jinja.string(text.slice(found + separator.size(), end)));
    end = found;
    --limit;
  }
  out.push_back(jinja.string(text.slice(0, end)));
  std::reverse(out.begin(), out.end());
  return jinja.list(std::move(out));
}

Value splitlines(Interpreter& jinja, const Value& self, Args args) {
  std::vector<Value> out;
  for_each_line(self.text(), truth(args[0]), jinja.budget(),
                [&](Text line) { out.push_back(jinja.string(std::move(line))); });
  return jinja.list(std::move(out));
}

Value replace(Interpreter& jinja, const Value& self, Args args) {
  return jinja.string(
      replaced(self.text(), text_of(args[0]), text_of(args[1]), limit_of(args[2]), jinja.budget()));
}

Value to_upper_case(Interpreter& jinja, const Value& self, Args) {
  return jinja.string(upper(self.text(), jinja.budget()));
}
Value to_lower_case(Interpreter& jinja, const Value& self, Args) {
  return jinja.string(lower(self.text(), jinja.budget()));
}
Value capitalize(Interpreter& jinja, const Value& self, Args) {
  return jinja.string(capitalized(self.text(), jinja.budget()));
}
Value title(Interpreter& jinja, const Value& self, Args) {
  const auto append = [](uint32_t code, bool after_letter, std::string& out) {
    if (after_letter)
      append_lower(code, out);
    else
      append_title(code, out);
  };
  return jinja.string(mapped(self.text(), jinja.budget(), append));
}
Value swapcase(Interpreter& jinja, const Value& self, Args) {
  const auto append = [](uint32_t code, bool, std::string& out) {
    if (is_upper(code))
      append_lower(code, out);
    else
      append_upper(code, out);
  };
  return jinja.string(mapped(self.text(), jinja.budget(), append));
}

Value expandtabs(Interpreter& jinja, const Value& self, Args args) {
  const int64_t size = args[0].is(Kind::Absent) ? 8 : integer_of(args[0]);
  Text out;
  int64_t column = 0;
  for (const Character c : Characters(self.text().view(), jinja.budget())) {
    if (c.code == '\t') {
      const int64_t spaces = size > 0 ? size - column % size : 0;
      out.append(padded(Text(), spaces, Align::Left, Text(" "), jinja.budget()));
      column += spaces;
    } else {
      out.append(self.text(), c.begin, c.end);
      column = c.code == '\n' || c.code == '\r' ? 0 : column + 1;
    }
    jinja.budget().check_size(out.size());
  }
  return jinja.string(std::move(out));
}

Value join(Interpreter& jinja, const Value& self, Args args) {
  Text out;
  size_t i = 0;
  for (const Value& item : iterate(args[0], jinja.budget())) {
    if (!item.is(Kind::String)) {
      raise("sequence item {}: expected str instance, {} found", i, type_name(item));
    }
    if (i++ != 0) out.append(self.text());
    jinja.budget().check_size(out.size() + item.text().size() + self.text().size());
    jinja.budget().spend_bytes(item.text().size() + self.text().size());
    out.append(item.text());
  }
  return jinja.string(std::move(out));
}

Value format(Interpreter& jinja, const Value& self, Args args) {
  const std::span<const Value> positional = args.first(args.size() - 1);
  return jinja.string(format_text(jinja, self.text(), positional, args.back()));
}

Value align(Interpreter& jinja, const Value& self, Args args, Align how) {
  const Text fill = args[1].is(Kind::Absent) ? Text(" ") : text_of(args[1]);
  if (count_characters(fill.view()) != 1) {
    raise("The fill character must be exactly one character long");
  }
  return jinja.string(padded(self.text(), integer_of(args[0]), how, fill, jinja.budget()));
}
Value center(Interpreter& jinja, const Value& self, Args args) {
  return align(jinja, self, args, Align::Center);
}
Value ljust(Interpreter& jinja, const Value& self, Args args) {
  return align(jinja, self, args, Align::Left);
}
Value rjust(Interpreter& jinja, const Value& self, Args args) {
  return align(jinja, self, args, Align::Right);
}
Value zfill(Interpreter& jinja, const Value& self, Args args) {
  const Text& text = self.text();
  const bool is_signed = text.view().starts_with('-') || text.view().starts_with('+');
  Text out = text.slice(0, is_signed ? 1 : 0);
  out.append(padded(text.slice(is_signed ? 1 : 0, text.size()),
                    integer_of(args[0]) - (is_signed ? 1 : 0), Align::Right, Text("0"),
                    jinja.budget()));
  return jinja.string(std::move(out));
}

Value three(Interpreter& jinja, const Text& text, size_t at, size_t size) {
  return jinja.list({jinja.string(text.slice(0, at)), jinja.string(text.slice(at, at + size)),
                     jinja.string(text.slice(at + size, text.size()))},
                    Kind::Tuple);
}
Value partition(Interpreter& jinja, const Value& self, Args args) {
  const Text& separator = text_of(args[0]);
  if (separator.empty()) raise("empty separator");
  const size_t at = find_text(self.text().view(), separator.view(), 0, jinja.budget());
  if (at == std::string_view::npos) return three(jinja, self.text(), self.text().size(), 0);
  return three(jinja, self.text(), at, separator.size());
}
Value rpartition(Interpreter& jinja, const Value& self, Args args) {
  const Text& separator = text_of(args[0]);
  if (separator.empty()) raise("empty separator");
  const size_t at = rfind_text(self.text().view(), separator.view(), jinja.budget());
  if (at == std::string_view::npos) return three(jinja, self.text(), 0, 0);
  return three(jinja, self.text(), at, separator.size());
}

Value removeprefix(Interpreter& jinja, const Value& self, Args args) {
  const Text& text = self.text();
  const bool has = text.view().starts_with(text_of(args[0]).view());
  return jinja.string(text.slice(has ? args[0].text().size() : 0, text.size()));
}
Value removesuffix(Interpreter& jinja, const Value& self, Args args) {
  const Text& text = self.text();
  const bool has = text.view().ends_with(text_of(args[0]).view());
  return jinja.string(text.slice(0, text.size() - (has ? args[0].text().size() : 0)));
}

constexpr std::array kMethods = {
    Builtin{"strip", "chars,/", 0, strip},
    Builtin{"lstrip", "chars,/", 0, lstrip},
    Builtin{"rstrip", "chars,/", 0, rstrip},
    Builtin{"split", "sep,maxsplit", 0, split},
    Builtin{"rsplit", "sep,maxsplit", 0, rsplit},
    Builtin{"splitlines", "keepends", 0, splitlines},
    Builtin{"replace", "old,new,count", 2, replace},
    Builtin{"upper", "", 0, to_upper_case},
    Builtin{"lower", "", 0, to_lower_case},
    Builtin{"casefold", "", 0, to_lower_case},
    Builtin{"capitalize", "", 0, capitalize},
    Builtin{"title", "", 0, title},
    Builtin{"swapcase", "", 0, swapcase},
    Builtin{"expandtabs", "tabsize", 0, expandtabs},
    Builtin{"join", "iterable,/", 1, join},
    Builtin{"format", "*,**", 0, format},
    Builtin{"center", "width,fillchar,/", 1, center},
    Builtin{"ljust", "width,fillchar,/", 1, ljust},
    Builtin{"rjust", "width,fillchar,/", 1, rjust},
    Builtin{"zfill", "width,/", 1, zfill},
    Builtin{"partition", "sep,/", 1, partition},
    Builtin{"rpartition", "sep,/", 1, rpartition},
    Builtin{"removeprefix", "prefix,/", 1, removeprefix},
    Builtin{"removesuffix", "suffix,/", 1, removesuffix},
};

}  // namespace
}  // namespace str_methods_table

std::span<const Builtin> str_methods() { return str_methods_table::kMethods; }

}  // namespace tenon::jinja
