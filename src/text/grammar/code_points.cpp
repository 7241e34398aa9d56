#include "text/grammar/code_points.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <map>

#include "text/unicode/general_category.h"

namespace tenon::grammar {
namespace {

/// Range of characters with UTF-8 of equal length; surrogates split the three-byte range.
struct Block {
  uint32_t low;
  uint32_t high;
  uint32_t length;
};
constexpr std::array kBlocks = {Block{0, 0x7F, 1}, Block{0x80, 0x7FF, 2}, Block{0x800, 0xD7FF, 3},
                                Block{0xE000, 0xFFFF, 3}, Block{0x10000, kLastCodePoint, 4}};

CodePoints of_categories(CategoryMask categories) {
  CodePoints set;
  uint32_t first = 0;
  bool inside = false;
  for (uint32_t c = 0; c <= kLastCodePoint + 1; ++c) {
    const bool now = c <= kLastCodePoint && (categories & category_bit(c)) != 0;
    if (now && !inside) first = c;
    if (!now && inside) set.add(first, c - 1);
    inside = now;
  }
  return set;
}

uint8_t utf8_byte(uint32_t code, uint32_t length, uint32_t index) {
  constexpr uint8_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  const uint32_t shift = 6 * (length - 1 - index);
  if (index > 0) return static_cast<uint8_t>(0x80 | (code >> shift & 0x3F));
  return static_cast<uint8_t>(kLead[length] | code >> shift);
}

/// Adds edges over the bytes from `index` on of low..high, which agree in the bytes before. Shares
/// nodes before arbitrary continuation bytes: `rest[n]` accepts n of them.
class Utf8Edges {
 public:
  Utf8Edges(Nfa& nfa, uint32_t to) : nfa_(nfa) { rest_[0] = to; }

  void add(uint32_t from, uint32_t low, uint32_t high, uint32_t length, uint32_t index) {
    const uint32_t left = length - 1 - index;
    const uint32_t span = (1u << (6 * left)) - 1;  // values of the remaining bytes
    if (left == 0) {
      nfa_.add_bytes(from, utf8_byte(low, length, index), utf8_byte(high, length, index), rest_[0]);
      return;
    }
    // The first and the last byte may have a partial rest; those between accept any rest.
    uint32_t begin = low & ~span, end = high & ~span;
    if ((low & span) != 0 || (begin == end && (high & span) != span)) {
      const uint32_t last = begin == end ? high : begin | span;
      add(next_of(from, utf8_byte(low, length, index)), low, last, length, index + 1);
      if (begin == end) return;
      begin += span + 1;
    }
    const bool partial_end = (high & span) != span;
    if (partial_end) {
      add(next_of(from, utf8_byte(end, length, index)), end, high, length, index + 1);
      if (begin == end) return;
      end -= span + 1;
    }
    if (begin > end) return;
    nfa_.add_bytes(from, utf8_byte(begin, length, index), utf8_byte(end, length, index),
                   rest(left));
  }

 private:
  uint32_t rest(uint32_t left) {
    if (left > 0 && rest_[left] == kNone) {
      rest_[left] = nfa_.add_node();
      nfa_.add_bytes(rest_[left], 0x80, 0xBF, rest(left - 1));
    }
    return rest_[left];
  }
  /// Node after a byte that several ranges may share.
  uint32_t next_of(uint32_t from, uint8_t byte) {
    const auto [at, is_new] = next_.try_emplace({from, byte}, 0);
    if (is_new) {
      const uint32_t node = nfa_.add_node();
      at->second = node;
      nfa_.add_bytes(from, byte, byte, node);
    }
    return at->second;
  }

  static constexpr uint32_t kNone = UINT32_MAX;
  Nfa& nfa_;
  uint32_t rest_[4] = {kNone, kNone, kNone, kNone};
  std::map<std::pair<uint32_t, uint8_t>, uint32_t> next_;
};

}  // namespace

CodePoints CodePoints::all() { return of(0, kLastCodePoint); }

CodePoints CodePoints::escape_class(char letter) {
  CodePoints set;
  if (letter == 'd' || letter == 'w') set.add('0', '9');
  if (letter == 'w') {
    set.add('A', 'Z');
    set.add('a', 'z');
    set.add('_', '_');
  }
  if (letter == 's') {
    set.add(9, 13);
    for (const uint32_t c :
         {0x20u, 0xA0u, 0x1680u, 0x2028u, 0x2029u, 0x202Fu, 0x205Fu, 0x3000u, 0xFEFFu}) {
      set.add(c, c);
    }
    set.add(0x2000, 0x200A);
  }
  return set;
}

bool CodePoints::property(std::string_view name, CodePoints& set) {
  for (const std::string_view prefix : {"gc=", "General_Category="}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  if (name == "Any") {
    set = all();
  } else if (name == "ASCII") {
    set = of(0, 0x7F);
  } else if (name == "White_Space" || name == "space") {
    set = escape_class('s');
    set.add(0x85, 0x85);
  } else {
    if (name == "Alphabetic" || name == "Alpha") name = "L";
    if (name == "Lowercase") name = "Ll";
    if (name == "Uppercase") name = "Lu";
    const CategoryMask categories = categories_named(name);
    if (categories == 0) return false;
    set = of_categories(categories);
  }
  return true;
}

void CodePoints::add(uint32_t low, uint32_t high) {
  ranges_.push_back({low, high});
  sorted_ = false;
}

void CodePoints::add(const CodePoints& other) {
  for (const Range& range : other.ranges()) add(range.low, range.high);
}

const std::vector<CodePoints::Range>& CodePoints::ranges() const {
  if (sorted_) return ranges_;
  std::sort(ranges_.begin(), ranges_.end(), [](Range a, Range b) { return a.low < b.low; });
  std::vector<Range> merged;
  const auto put = [&merged](uint32_t low, uint32_t high) {
    if (low > high) return;
    if (!merged.empty() && low <= merged.back().high + 1) {
      merged.back().high = std::max(merged.back().high, high);
    } else {
      merged.push_back({low, high});
    }
  };
  for (const Range& range : ranges_) {
    put(range.low, std::min(range.high, 0xD7FFu));
    put(std::max(range.low, 0xE000u), std::min(range.high, kLastCodePoint));
  }
  ranges_ = std::move(merged);
  sorted_ = true;
  return ranges_;
}

CodePoints CodePoints::inverse() const {
  CodePoints result;
  uint32_t next = 0;
  for (const Range& range : ranges()) {
    if (range.low > next) result.add(next, range.low - 1);
    next = range.high + 1;
  }
  if (next <= kLastCodePoint) result.add(next, kLastCodePoint);
  return result;
}

CodePoints CodePoints::any_case() const {
  CodePoints result = *this;
  for (const Range& range : ranges()) {
    // Characters beyond these planes have no case.
    for (uint32_t c = range.low; c <= std::min(range.high, 0x1FFFFu); ++c) {
      const auto code = static_cast<utf8proc_int32_t>(c);
      const auto lower = static_cast<uint32_t>(utf8proc_tolower(code));
      const auto upper = static_cast<uint32_t>(utf8proc_toupper(code));
      if (lower != c) result.add(lower, lower);
      if (upper != c) result.add(upper, upper);
    }
  }
  return result;
}

void add_code_points(Nfa& nfa, const CodePoints& set, uint32_t from, uint32_t to) {
  Utf8Edges edges(nfa, to);
  for (const CodePoints::Range& range : set.ranges()) {
    for (const Block& block : kBlocks) {
      const uint32_t low = std::max(range.low, block.low);
      const uint32_t high = std::min(range.high, block.high);
      if (low <= high) edges.add(from, low, high, block.length, 0);
    }
  }
}

}  // namespace tenon::grammar
