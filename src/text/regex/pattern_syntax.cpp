#include "text/regex/pattern_syntax.h"

#include <utf8proc.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "text/unicode/char_properties.h"
#include "text/unicode/hex_digit.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

constexpr uint32_t kEnd = UINT32_MAX;
constexpr int kMaxDepth = 64;
constexpr int kMaxStacked = 8;  // a**, a+{2}, ...

class Parser {
 public:
  explicit Parser(std::string_view source) : source_(source) {}

  PatternTree run() {
    tree_.root = choice(0);
    if (peek() != kEnd) bad("an unmatched )");
    return std::move(tree_);
  }

 private:
  // --- characters of the source

  [[nodiscard]] uint32_t peek() const {
    return at_ < source_.size() ? utf8_decode_valid(source_.data() + at_).code : kEnd;
  }
  uint32_t take() {
    if (at_ >= source_.size()) bad("an end too early");
    const CodePoint c = utf8_decode_valid(source_.data() + at_);
    at_ += c.size;
    return c.code;
  }
  bool take_if(std::string_view text) {
    if (!source_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  [[noreturn]] void bad(std::string_view what) const {
    fail(Code::Format, "pattern {}: {} at byte {}", quoted(source_), what, at_);
  }
  [[noreturn]] void unsupported(std::string_view what) const {
    fail(Code::Unsupported, "pattern {}: {} at byte {}", quoted(source_), what, at_);
  }

  // --- nodes

  uint32_t add(PatternNode node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(tree_.nodes.size() - 1);
  }
  uint32_t add_kind(PatternNode::Kind kind, std::vector<uint32_t> children) {
    PatternNode node;
    node.kind = kind;
    node.children = std::move(children);
    return add(std::move(node));
  }
  uint32_t add_set(const CharSet& set) {
    const auto place = std::find(tree_.sets.begin(), tree_.sets.end(), set);
    PatternNode node;
    node.kind = PatternNode::Set;
    node.set = static_cast<uint32_t>(place - tree_.sets.begin());
    if (place == tree_.sets.end()) tree_.sets.push_back(set);
    return add(std::move(node));
  }
  uint32_t add_place(PatternNode::Place place) {
    PatternNode node;
    node.kind = PatternNode::Assert;
    node.place = place;
    return add(std::move(node));
  }

  // --- grammar

  uint32_t choice(int depth) {
    if (depth > kMaxDepth) {
      fail(Code::Limit, "pattern {}: groups nested deeper than {}", quoted(source_), kMaxDepth);
    }
    std::vector<uint32_t> branches{sequence(depth)};
    while (take_if("|")) branches.push_back(sequence(depth));
    return branches.size() == 1 ? branches[0] : add_kind(PatternNode::Choice, std::move(branches));
  }

  uint32_t sequence(int depth) {
    std::vector<uint32_t> parts;
    while (peek() != kEnd && peek() != '|' && peek() != ')') {
      const auto part = atom(depth);
      if (part) parts.push_back(quantified(*part));
    }
    if (parts.empty()) return add({});
    return parts.size() == 1 ? parts[0] : add_kind(PatternNode::Sequence, std::move(parts));
  }

  uint32_t quantified(uint32_t node) {
    uint32_t minimum = 0;
    uint32_t maximum = 0;
    for (int stacked = 1; quantifier(minimum, maximum); ++stacked) {
      if (stacked > kMaxStacked) {
        fail(Code::Limit, "pattern {}: more than {} repetitions of one thing", quoted(source_),
             kMaxStacked);
      }
      const bool is_interval = source_[at_ - 1] == '}';
      PatternNode repeat;
      repeat.kind = PatternNode::Repeat;
      repeat.minimum = minimum;
      repeat.maximum = maximum;
      if (take_if("?")) {
        repeat.greed = PatternNode::Lazy;
      } else if (!is_interval && take_if("+")) {
        repeat.greed = PatternNode::Possessive;
      }
      repeat.children = {node};
      node = add(std::move(repeat));
    }
    return node;
  }

  bool quantifier(uint32_t& minimum, uint32_t& maximum) {
    minimum = 0;
    maximum = PatternNode::kNoMaximum;
    if (take_if("*")) return true;
    if (take_if("+")) {
      minimum = 1;
      return true;
    }
    if (take_if("?")) {
      maximum = 1;
      return true;
    }
    if (peek() != '{') return false;
    const size_t begin = at_;
    ++at_;
    const auto low = number();
    const bool comma = take_if(",");
    const auto high = comma ? number() : low;
    // Other text in braces is literal.
    if ((!low && !high) || !take_if("}")) {
      at_ = begin;
      return false;
    }
    minimum = low.value_or(0);
    maximum = high.value_or(PatternNode::kNoMaximum);
    if (maximum < minimum) bad("a repetition whose maximum is below its minimum");
    return true;
  }

  std::optional<uint32_t> number() {
    std::optional<uint32_t> value;
    while (peek() >= '0' && peek() <= '9') {
      value = value.value_or(0) * 10 + (take() - '0');
      if (*value > kMaxPatternRepeat) {
        fail(Code::Limit, "pattern {}: repetitions beyond {}", quoted(source_), kMaxPatternRepeat);
      }
    }
    return value;
  }

  std::optional<uint32_t> atom(int depth) {
    const uint32_t c = take();
    switch (c) {
      case '(':
        return group(depth);
      case '[':
        return add_set(bracket(0));
      case '.':
        return add_set(dot_is_all_ ? newline_set().united(newline_set().complement())
                                   : newline_set().complement());
      case '^':
        return add_place(PatternNode::LineBegin);
      case '$':
        return add_place(PatternNode::LineEnd);
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
        bad("a repetition of nothing");
      default:
        return add_set(literal(c));
    }
  }

  std::optional<uint32_t> group(int depth) {
    const bool outer_fold = fold_case_;
    const bool outer_dot = dot_is_all_;
    PatternNode look;
    look.kind = PatternNode::Look;
    bool is_look = true;
    if (take_if("?=")) {
    } else if (take_if("?!")) {
      look.negated = true;
    } else if (take_if("?<=")) {
      look.behind = true;
    } else if (take_if("?<!")) {
      look.behind = look.negated = true;
    } else {
      is_look = false;
      if (take_if("?>")) unsupported("an atomic group");
      if (take_if("?<") || take_if("?P<")) {
        while (take() != '>') {
        }
      } else if (take_if("?")) {
        if (!flags()) return std::nullopt;  // (?i) holds up to the end of the enclosing group
      }
    }
    uint32_t inside = choice(depth + 1);
    if (!take_if(")")) bad("a group without its )");
    fold_case_ = outer_fold;
    dot_is_all_ = outer_dot;
    if (!is_look) return inside;
    look.children = {inside};
    return add(std::move(look));
  }

  /// Parses the flags of (?flags:...) or (?flags); true if a group follows.
  bool flags() {
    bool value = true;
    while (true) {
      switch (take()) {
        case '-':
          value = false;
          break;
        case 'i':
          fold_case_ = value;
          break;
        case 'm':
        case 's':
          dot_is_all_ = value;
          break;
        case 'u':
          break;
        case ':':
          return true;
        case ')':
          return false;
        default:
          unsupported("a group of unknown kind");
      }
    }
  }

  uint32_t escape() {
    const uint32_t c = take();
    switch (c) {
      case 'b':
        return add_place(PatternNode::WordEdge);
      case 'B':
        return add_place(PatternNode::NoWordEdge);
      case 'A':
        return add_place(PatternNode::TextBegin);
      case 'z':
        return add_place(PatternNode::TextEnd);
      case 'Z':
        return add_place(PatternNode::LastLineEnd);
      case 'R':
      case 'X':
      case 'G':
      case 'K':
      case 'k':
      case 'g':
        unsupported("an escape that is not known");
      default:
        if (c >= '1' && c <= '9') unsupported("a back reference");
        if (c == 'w') return add_set(bare_word_set());
        if (c == 'W') return add_set(bare_word_set().complement());
        if (const auto set = class_escape(c)) return add_set(*set);
        return add_set(literal(code_escape(c)));
    }
  }

  /// Set of \d, \s, \w, \h, \p{...} and their complements.
  std::optional<CharSet> class_escape(uint32_t c) {
    switch (c) {
      case 'd':
        return digit_set();
      case 'D':
        return digit_set().complement();
      case 's':
        return space_set();
      case 'S':
        return space_set().complement();
      case 'w':
        return word_set();
      case 'W':
        return word_set().complement();
      case 'h':
        return property_set("xdigit");
      case 'H':
        return property_set("xdigit")->complement();
      case 'p':
      case 'P':
        return property(c == 'P');
      default:
        return std::nullopt;
    }
  }

  CharSet property(bool negated) {
    std::string_view name = source_.substr(at_, 1);
    if (take_if("{")) {
      if (take_if("^")) negated = !negated;
      const size_t end = source_.find('}', at_);
      if (end == std::string_view::npos) bad("a property without its }");
      name = source_.substr(at_, end - at_);
      at_ = end + 1;
    } else {
      take();
    }
    const auto set = property_set(name);
    if (!set) {
      fail(Code::Unsupported, "pattern {}: unknown property {}", quoted(source_), quoted(name));
    }
    return negated ? set->complement() : *set;
  }

  /// Character of the escape `\c`.
  uint32_t code_escape(uint32_t c) {
    switch (c) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 'f':
        return '\f';
      case 'v':
        return '\v';
      case 'a':
        return 7;
      case 'e':
        return 27;
      case '0':
        return 0;
      case 'u':
        return hex(4, 4);
      case 'x': {
        if (!take_if("{")) return hex(1, 2);
        const uint32_t code = hex(1, 8);
        if (!take_if("}")) bad("a \\x{ without its }");
        return code;
      }
      default:
        return c;
    }
  }

  uint32_t hex(int minimum, int maximum) {
    uint32_t value = 0;
    for (int i = 0; i < maximum; ++i) {
      const uint32_t c = peek();
      const int digit = c < 128 ? hex_digit(static_cast<char>(c)) : -1;
      if (digit < 0) {
        if (i >= minimum) break;
        bad("an escape with too few digits");
      }
      value = value * 16 + static_cast<uint32_t>(digit);
      take();
    }
    if (value > 0x10FFFF) bad("a character beyond U+10FFFF");
    return value;
  }

  /// Parses a set after its [.
  CharSet bracket(int depth) {
    if (depth > kMaxDepth) {
      fail(Code::Limit, "pattern {}: sets nested deeper than {}", quoted(source_), kMaxDepth);
    }
    const bool negated = take_if("^");
    CharSet set;
    std::optional<CharSet> met;  // intersection of the sets before &&
    bool first = true;
    while (first || peek() != ']') {
      first = false;
      if (take_if("&&")) {
        met = met ? met->intersected(set) : set;
        set = CharSet();
        first = peek() != ']';
        continue;
      }
      const uint32_t c = take();
      if (c == '[') {
        set = set.united(peek() == ':' ? posix_bracket(depth) : bracket(depth + 1));
        continue;
      }
      uint32_t low = c;
      if (c == '\\') {
        const uint32_t escaped = take();
        if (const auto named = class_escape(escaped)) {
          set = set.united(*named);
          continue;
        }
        low = escaped == 'b' ? 8 : code_escape(escaped);
      }
      set = set.united(range_from(low));
    }
    take();
    if (met) set = met->intersected(set);
    return negated ? set.complement() : set;
  }

  CharSet range_from(uint32_t low) {
    const std::string_view rest = source_.substr(at_);
    const bool is_range = rest.size() > 1 && rest[0] == '-' && rest[1] != ']' && rest[1] != '[';
    if (!is_range) return literal(low);
    const size_t dash = at_++;
    uint32_t high = take();
    if (high == '\\') {
      const uint32_t escaped = take();
      if (class_escape(escaped)) {  // as in [a-\d]: the dash is literal, and \d follows
        at_ = dash + 1;
        return literal(low).united(CharSet::of('-'));
      }
      high = code_escape(escaped);
    }
    if (high < low) bad("a range that runs backwards");
    return folded(CharSet::of_range(low, high), low, high);
  }

  CharSet posix_bracket(int depth) {
    const size_t end = source_.find(":]", at_);
    const size_t begin = at_ + 1;
    if (end == std::string_view::npos || end - begin > 16) return bracket(depth + 1);
    std::string_view name = source_.substr(begin, end - begin);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    const auto set = bracket_set(name);
    if (!set) unsupported("an unknown [:name:]");
    at_ = end + 2;
    return negated ? set->complement() : *set;
  }

  CharSet literal(uint32_t code) { return folded(CharSet::of(code), code, code); }

  /// Under (?i), adds the other cases of a range's characters.
  CharSet folded(CharSet set, uint32_t first, uint32_t last) const {
    if (!fold_case_) return set;
    constexpr uint32_t kLongS = 0x17F;
    constexpr uint32_t kKelvin = 0x212A;
    for (uint32_t code = first; code <= last && code - first < 4096; ++code) {
      const auto point = static_cast<utf8proc_int32_t>(code);
      const auto lower = static_cast<uint32_t>(utf8proc_tolower(point));
      const auto upper = static_cast<uint32_t>(utf8proc_toupper(point));
      set = set.united(CharSet::of(lower)).united(CharSet::of(upper));
      if (lower == 's' || upper == 'S') set = set.united(CharSet::of(kLongS));
      if (lower == 'k') set = set.united(CharSet::of(kKelvin));
    }
    return set;
  }

  std::string_view source_;
  size_t at_ = 0;
  bool fold_case_ = false;
  bool dot_is_all_ = false;
  PatternTree tree_;
};

}  // namespace

PatternTree parse_pattern(std::string_view source) {
  if (source.size() > kMaxPatternBytes) {
    fail(Code::Limit, "pattern: {} bytes, the limit is {}", source.size(), kMaxPatternBytes);
  }
  if (utf8_valid_prefix(source) != source.size()) fail(Code::Format, "pattern: not valid UTF-8");
  return Parser(source).run();
}

}  // namespace tenon
