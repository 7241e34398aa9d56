#include "text/template/jinja_text_tools.h"

#include <algorithm>
#include <cstring>

#include "text/template/jinja_characters.h"
#include "text/template/jinja_operators.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace {

bool is_line_end(uint32_t code) {
  return (code >= 10 && code <= 13) || (code >= 28 && code <= 30) || code == 0x85 ||
         code == 0x2028 || code == 0x2029;
}

class CharacterSet {
 public:
  void add(uint32_t code) {
    if (few_.size() < kFew) {
      if (!has(code)) few_.push_back(code);
      return;
    }
    if (many_.empty()) many_.resize(kCodePoints);
    many_[code] = true;
  }
  [[nodiscard]] bool has(uint32_t code) const {
    return std::find(few_.begin(), few_.end(), code) != few_.end() ||
           (!many_.empty() && many_[code]);
  }

 private:
  static constexpr size_t kFew = 16;
  static constexpr size_t kCodePoints = 0x110000;
  std::vector<uint32_t> few_;
  std::vector<bool> many_;  // characters beyond the few
};

/// True if `text`, which must not be shorter, begins with `what`. Compares by blocks.
bool begins_with(std::string_view text, std::string_view what, Budget& budget) {
  constexpr size_t kBlock = 32;
  for (size_t at = 0; at < what.size(); at += kBlock) {
    const size_t size = std::min(kBlock, what.size() - at);
    if (std::memcmp(text.data() + at, what.data() + at, size) != 0) return false;
    if (at != 0) budget.spend();
  }
  return true;
}

size_t previous_character(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && utf8_continues(text[begin])) --begin;
  return begin;
}

}  // namespace

size_t find_text(std::string_view text, std::string_view what, size_t from, Budget& budget) {
  if (from > text.size() || what.size() > text.size() - from) return std::string_view::npos;
  if (what.empty()) return from;
  const size_t last = text.size() - what.size();
  const size_t begin = from;
  for (; from <= last; ++from) {
    const void* found = std::memchr(text.data() + from, what[0], last - from + 1);
    if (found == nullptr) break;
    from = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    budget.spend_character();
    if (begins_with(text.substr(from), what, budget)) {
      budget.spend_bytes(from - begin);
      return from;
    }
  }
  budget.spend_bytes(text.size() - begin);
  return std::string_view::npos;
}

size_t rfind_text(std::string_view text, std::string_view what, Budget& budget) {
  if (what.size() > text.size()) return std::string_view::npos;
  const size_t last = text.size() - what.size();
  for (size_t at = last + 1; at-- > 0;) {
    budget.spend_character();
    if (begins_with(text.substr(at), what, budget)) {
      return at;
    }
  }
  return std::string_view::npos;
}

const Text& text_of(const Value& value) {
  require_defined(value);
  if (!value.is(Kind::String)) raise("expected str, got '{}'", type_name(value));
  return value.text();
}

Text stripped(const Text& text, const Value& chars, bool left, bool right, Budget& budget) {
  const bool spaces = chars.is(Kind::Absent) || chars.is(Kind::None);
  CharacterSet set;
  if (!spaces) {
    for (const Character c : Characters(text_of(chars).view(), budget)) set.add(c.code);
  }
  const auto goes = [&](uint32_t code) {
    budget.spend_character();
    return spaces ? is_space(code) : set.has(code);
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
    const size_t found = find_text(view, from.view(), done, budget);
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

Text mapped(const Text& text, Budget& budget,
            const std::function<void(uint32_t code, bool after_letter, std::string& out)>& append) {
  Text out;
  bool after_letter = false;
  std::string bytes;
  for (const Text::Span& span : text.spans()) {
    bytes.clear();
    for (const Character c : Characters(text.view().substr(0, span.end), budget, span.begin)) {
      append(c.code, after_letter, bytes);
      after_letter = is_upper(c.code) || is_lower(c.code) || is_title(c.code);
    }
    budget.check_size(out.size() + bytes.size());
    out.append(bytes, span.foreign);
  }
  return out;
}

Text upper(const Text& text, Budget& budget) {
  return mapped(text, budget,
                [](uint32_t code, bool, std::string& out) { append_upper(code, out); });
}

Text lower(const Text& text, Budget& budget) {
  return mapped(text, budget,
                [](uint32_t code, bool, std::string& out) { append_lower(code, out); });
}

Text capitalized(const Text& text, Budget& budget) {
  const size_t first = character_offset(text.view(), 1);
  Text out = mapped(text.slice(0, first), budget,
                    [](uint32_t code, bool, std::string& bytes) { append_title(code, bytes); });
  out.append(lower(text.slice(first, text.size()), budget));
  return out;
}

void for_each_line(const Text& text, bool keep_ends, Budget& budget,
                   const std::function<void(Text line)>& visit) {
  const std::string_view view = text.view();
  size_t begin = 0;
  for (const Character c : Characters(view, budget)) {
    if (!is_line_end(c.code) || c.begin < begin) continue;  // "\n" after "\r" ends the same line
    const size_t end = view.substr(c.begin).starts_with("\r\n") ? c.end + 1 : c.end;
    visit(text.slice(begin, keep_ends ? end : c.begin));
    begin = end;
  }
  if (begin < view.size()) visit(text.slice(begin, view.size()));
}

Text padded(const Text& text, int64_t width, Align align, const Text& fill, Budget& budget) {
  const auto size = static_cast<int64_t>(count_characters(text.view()));
  if (width <= size) return text;
  const auto missing = static_cast<size_t>(width - size);
  if (missing > budget.limits().output_bytes) budget.check_size(missing);
  budget.check_size(text.size() + missing * fill.size());
  // Like Python: for an odd width, the odd fill goes to the left.
  const size_t middle = missing / 2 + (missing & static_cast<size_t>(width) & 1);
  const size_t left = align == Align::Left ? 0 : align == Align::Right ? missing : middle;
  Text out = repeated_text(fill, left, budget);
  out.append(text);
  out.append(repeated_text(fill, missing - left, budget));
  return out;
}

}  // namespace tenon::jinja
