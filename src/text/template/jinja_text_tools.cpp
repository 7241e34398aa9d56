#include "text/template/jinja_text_tools.h"

#include <algorithm>

#include "text/template/jinja_characters.h"
#include "text/template/jinja_operators.h"
#include "text/utf8_codec.h"

namespace tenon::jinja {
namespace {

bool is_line_end(uint32_t code) {
  return (code >= 10 && code <= 13) || (code >= 28 && code <= 30) || code == 0x85 ||
         code == 0x2028 || code == 0x2029;
}

size_t previous_character(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && utf8_continues(text[begin])) --begin;
  return begin;
}

}  // namespace

const Text& text_of(const Value& value) {
  require_defined(value);
  if (!value.is(Kind::String)) raise("expected str, got '{}'", type_name(value));
  return value.text();
}

Text stripped(const Text& text, const Value& chars, bool left, bool right) {
  const bool spaces = chars.is(Kind::Absent) || chars.is(Kind::None);
  std::vector<uint32_t> set;
  if (!spaces) {
    const std::string_view view = text_of(chars).view();
    for (size_t at = 0; at < view.size();) {
      const CodePoint c = utf8_decode_valid(view.data() + at);
      set.push_back(c.code);
      at += c.size;
    }
  }
  const auto goes = [&](uint32_t code) {
    return spaces ? is_space(code) : std::find(set.begin(), set.end(), code) != set.end();
  };
  const std::string_view view = text.view();
  size_t begin = 0;
  size_t end = view.size();
  while (left && begin < end) {
    const CodePoint c = utf8_decode_valid(view.data() + begin);
    if (!goes(c.code)) break;
    begin += c.size;
  }
  while (right && end > begin) {
    const size_t last = previous_character(view, end);
    if (!goes(utf8_decode_valid(view.data() + last).code)) break;
    end = last;
  }
  return text.slice(begin, end);
}

Text replaced(const Text& text, const Text& from, const Text& to, int64_t count, Budget& budget) {
  const std::string_view view = text.view();
  budget.spend_bytes(view.size());
  Text out;
  size_t done = 0;
  if (from.empty()) {
    for (size_t at = 0; count != 0; --count) {
      budget.check_size(out.size() + to.size());
      budget.spend();
      out.append(to);
      if (at == view.size()) break;
      done = at + utf8_decode_valid(view.data() + at).size;
      out.append(text, at, done);
      at = done;
    }
    out.append(text, done, view.size());
    return out;
  }
  while (count != 0) {
    const size_t found = view.find(from.view(), done);
    if (found == view.npos) break;
    out.append(text, done, found);
    budget.check_size(out.size() + to.size());
    budget.spend_bytes(to.size());
    out.append(to);
    done = found + from.size();
    --count;
  }
  out.append(text, done, view.size());
  return out;
}

Text mapped(const Text& text,
            const std::function<void(uint32_t code, bool after_letter, std::string& out)>& append) {
  Text out;
  bool after_letter = false;
  std::string bytes;
  for (const Text::Span& span : text.spans()) {
    bytes.clear();
    for (size_t at = span.begin; at < span.end;) {
      const CodePoint c = utf8_decode_valid(text.view().data() + at);
      append(c.code, after_letter, bytes);
      after_letter = is_upper(c.code) || is_lower(c.code) || is_title(c.code);
      at += c.size;
    }
    out.append(bytes, span.foreign);
  }
  return out;
}

Text upper(const Text& text) {
  return mapped(text, [](uint32_t code, bool, std::string& out) { append_upper(code, out); });
}

Text lower(const Text& text) {
  return mapped(text, [](uint32_t code, bool, std::string& out) { append_lower(code, out); });
}

Text capitalized(const Text& text) {
  const size_t first = character_offset(text.view(), 1);
  Text out = mapped(text.slice(0, first),
                    [](uint32_t code, bool, std::string& bytes) { append_title(code, bytes); });
  out.append(lower(text.slice(first, text.size())));
  return out;
}

std::vector<Text> lines_of(const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  const std::string_view view = text.view();
  size_t begin = 0;
  for (size_t at = 0; at < view.size();) {
    const CodePoint c = utf8_decode_valid(view.data() + at);
    if (!is_line_end(c.code)) {
      at += c.size;
      continue;
    }
    const size_t end = at + (view.substr(at).starts_with("\r\n") ? 2 : c.size);
    lines.push_back(text.slice(begin, keep_ends ? end : at));
    begin = at = end;
  }
  if (begin < view.size()) lines.push_back(text.slice(begin, view.size()));
  return lines;
}

Text padded(const Text& text, int64_t width, Align align, const Text& fill, Budget& budget) {
  const auto size = static_cast<int64_t>(count_characters(text.view()));
  if (width <= size) return text;
  const auto missing = static_cast<size_t>(width - size);
  if (missing > budget.limits().output_bytes) budget.check_size(missing);
  budget.check_size(text.size() + missing * fill.size());
  budget.spend(missing);
  // As Python rounds: the odd one goes left when the width is odd.
  const size_t middle = missing / 2 + (missing & static_cast<size_t>(width) & 1);
  const size_t left = align == Align::Left ? 0 : align == Align::Right ? missing : middle;
  Text out;
  for (size_t i = 0; i < left; ++i) out.append(fill);
  out.append(text);
  for (size_t i = left; i < missing; ++i) out.append(fill);
  return out;
}

}  // namespace tenon::jinja
