#include "text/grammar/regex.h"

#include <algorithm>
#include <array>
#include <vector>

#include "text/grammar/expr.h"
#include "text/grammar/subset_construction.h"
#include "text/unicode/hex_digit.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::grammar {
namespace {

constexpr uint64_t kMaxRepeat = 100'000;
constexpr size_t kMaxPattern = size_t{1} << 20;

struct Escape {
  char letter;
  uint32_t code;
};
constexpr std::array kEscapes = {Escape{'n', '\n'}, Escape{'r', '\r'}, Escape{'t', '\t'},
                                 Escape{'f', '\f'}, Escape{'v', '\v'}, Escape{'0', 0}};

/// Required or forbidden beginning of the text from the pattern's beginning on.
struct Lookahead {
  Expr what;
  bool negative;
};

class RegexParser {
 public:
  /// anchored: every match begins at the beginning of the text.
  RegexParser(std::string_view pattern, bool anchored, Budget& budget)
      : text_(pattern), anchored_(anchored), budget_(budget) {}

  Expr parse(uint32_t depth = 0) {
    if (text_.size() > kMaxPattern) refuse("is longer than 1 MiB");
    if (utf8_valid_prefix(text_) != text_.size()) refuse("is not UTF-8");
    Expr result = choice(depth);
    if (at_ < text_.size()) refuse("has a ) without a (");
    return result;
  }
  [[nodiscard]] const std::vector<Lookahead>& lookaheads() const { return lookaheads_; }
  /// Parses a part of a text.
  Expr parse_within(RegexFlags flags) {
    any_case_ = flags.any_case;
    dot_all_ = flags.dot_all;
    dot_excludes_lf_only_ = true;
    return parse(1);
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    budget_.refuse("pattern, byte {}: {}", at_, fmt::format(text, std::forward<Args>(args)...));
  }

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Expr choice(uint32_t depth) {
    if (budget_.is_too_deep(depth)) {
      refuse("groups are nested deeper than {}, or than the stack allows", Budget::kMaxDepth);
    }
    Expr result{.kind = Expr::Kind::Choice};
    do {
      budget_.add_parts(1);
      result.children.push_back(sequence(depth));
    } while (take("|"));
    if (depth == 0 && result.children.size() > 1 && !lookaheads_.empty()) {
      refuse("lookahead in one of several alternatives is not supported");
    }
    return result.children.size() == 1 ? std::move(result.children[0]) : std::move(result);
  }

  Expr sequence(uint32_t depth) {
    Expr result{.kind = Expr::Kind::Sequence};
    bool at_begin = depth == 0;  // only ^ and lookaheads so far
    bool anchored = anchored_;
    while (!done() && peek() != '|' && peek() != ')') {
      if (at_begin && anchored && (take("(?=") || take("(?!"))) {
        lookahead(text_[at_ - 1] == '!');
        continue;
      }
      at_begin = at_begin && peek() == '^';
      anchored = anchored || peek() == '^';
      Expr item = atom(depth);
      repeat(item);
      budget_.add_parts(1);
      result.children.push_back(std::move(item));
    }
    return result;
  }

  void lookahead(bool negative) {
    const bool case_before = any_case_, dot_before = dot_all_;
    Expr what = choice(1);
    if (!take(")")) refuse("a ( is not closed");
    any_case_ = case_before;
    dot_all_ = dot_before;
    if (peek() == '*' || peek() == '+' || peek() == '?' || (peek() == '{' && is_bounds())) {
      refuse("a repetition after a lookahead has nothing to repeat");
    }
    lookaheads_.push_back({std::move(what), negative});
  }

  Expr chars(CodePoints set) {
    return {.kind = Expr::Kind::Chars, .chars = any_case_ ? any_case(set) : std::move(set)};
  }

  /// Adds the other cases of each character.
  CodePoints any_case(const CodePoints& set) {
    for (const CodePoints::Range& range : set.ranges()) {
      budget_.spend(std::min(range.high, 0x1FFFFu) - std::min(range.low, 0x1FFFFu));
    }
    return set.any_case();
  }

  Expr atom(uint32_t depth) {
    const char c = peek();
    switch (c) {
      case '(':
        return group(depth);
      case '[':
        return chars(bracket());
      case '.': {
        ++at_;
        CodePoints set;
        if (!dot_all_) set.add('\n', '\n');
        if (!dot_all_ && !dot_excludes_lf_only_) {
          set.add('\r', '\r');
          set.add(0x2028, 0x2029);
        }
        return {.kind = Expr::Kind::Chars, .chars = set.inverse()};
      }
      case '^':
        ++at_;
        return {.kind = Expr::Kind::Begin};
      case '$':
        ++at_;
        return {.kind = Expr::Kind::End};
      case '*':
      case '+':
      case '?':
        refuse("{} has nothing to repeat", c);
      case '{':
      case '}':
      case ']':
        if (c == '{' && is_bounds()) refuse("{{ has nothing to repeat");
        break;
      case '\\':
        return chars(escape(false));
      default:
        break;
    }
    const uint32_t code = next_char();
    return chars(CodePoints::of(code, code));
  }

  uint32_t next_char() {
    const Utf8Unit unit = utf8_unit(text_.substr(at_));
    at_ += unit.size;
    last_char_ = unit.code;
    return unit.code;
  }

  Expr group(uint32_t depth) {
    ++at_;
    const bool case_before = any_case_, dot_before = dot_all_;
    if (peek() == '?') {
      ++at_;
      if (take("=") || take("!") || take("<=") || take("<!")) {
        refuse("lookaround is not supported but for lookahead at the beginning of the text");
      }
      if (take("<") || take("P<")) {
        while (!done() && peek() != '>') ++at_;
        if (!take(">")) refuse("the name of a group does not end");
      } else if (flags()) {
        return {.kind = Expr::Kind::Empty};  // (?i): applies to the rest of the enclosing group
      }
    }
    Expr result = choice(depth + 1);
    if (!take(")")) refuse("a ( is not closed");
    any_case_ = case_before;
    dot_all_ = dot_before;
    return result;
  }

  /// Reads the flags of a group up to ":", or up to ")" and returns true.
  bool flags() {
    bool on = true;
    for (;;) {
      if (take(":")) return false;
      if (take(")")) return true;
      if (take("-")) {
        on = false;
      } else if (take("i")) {
        any_case_ = on;
      } else if (take("s")) {
        dot_all_ = on;
      } else {
        refuse("unknown kind of group");
      }
    }
  }

  [[nodiscard]] bool is_bounds() const {
    size_t i = at_ + 1;
    size_t digits = 0;
    while (i < text_.size() && (text_[i] >= '0' && text_[i] <= '9')) ++i, ++digits;
    if (digits == 0) return false;
    if (i < text_.size() && text_[i] == ',') ++i;
    while (i < text_.size() && (text_[i] >= '0' && text_[i] <= '9')) ++i;
    return i < text_.size() && text_[i] == '}';
  }

  uint64_t number() {
    uint64_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + static_cast<uint64_t>(text_[at_++] - '0');
      if (value > kMaxRepeat) refuse("repeats more than {} times", kMaxRepeat);
    }
    return value;
  }

  void repeat(Expr& item) {
    for (uint32_t times = 0;; ++times) {
      uint64_t minimum = 0, maximum = Expr::kForever;
      if (take("*")) {
      } else if (take("+")) {
        minimum = 1;
      } else if (take("?")) {
        maximum = 1;
      } else if (peek() == '{' && is_bounds()) {
        ++at_;
        minimum = maximum = number();
        if (take(",")) maximum = peek() == '}' ? Expr::kForever : number();
        ++at_;
        if (maximum < minimum) refuse("repeats {} to {} times", minimum, maximum);
      } else {
        return;
      }
      if (times > 0) refuse("a repetition is repeated");
      if (item.kind == Expr::Kind::Begin || item.kind == Expr::Kind::End) {
        refuse("a repetition after ^ or $ has nothing to repeat");
      }
      (void)take("?");  // lazy or greedy: the texts are the same
      Expr child = std::move(item);
      item = {.kind = Expr::Kind::Repeat, .minimum = minimum, .maximum = maximum};
      item.children.push_back(std::move(child));
    }
  }

  CodePoints escape(bool in_class) {
    ++at_;
    if (done()) refuse("ends in a backslash");
    const char c = text_[at_];
    const auto simple = [this](uint32_t code) {
      ++at_;
      last_char_ = code;
      is_char_ = true;
      return CodePoints::of(code, code);
    };
    is_char_ = false;
    if (c == 'b' && in_class) return simple(8);
    if (c == '0' && peek(1) >= '0' && peek(1) <= '9') refuse("octal escapes are not supported");
    for (const Escape& known : kEscapes) {
      if (c == known.letter) return simple(known.code);
    }
    if (c == 'd' || c == 'w' || c == 's' || c == 'D' || c == 'W' || c == 'S') {
      ++at_;
      const bool inverted = c < 'a';
      const CodePoints set = CodePoints::escape_class(inverted ? static_cast<char>(c + 32) : c);
      return inverted ? set.inverse() : set;
    }
    if (c == 'p' || c == 'P') return property(c == 'P');
    if (c == 'u' || c == 'x') return simple_hex(c == 'u');
    if (c == 'c') {
      const char letter = static_cast<char>(peek(1) | 0x20);
      if (letter < 'a' || letter > 'z') refuse("\\c stands before no letter");
      ++at_;
      return simple(static_cast<uint32_t>(letter) & 31);
    }
    if (c == 'b' || c == 'B') refuse("word boundaries are not supported");
    if ((c >= '1' && c <= '9') || c == 'k') refuse("back references are not supported");
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) refuse("unknown escape \\{}", c);
    is_char_ = true;
    const uint32_t code = next_char();
    return CodePoints::of(code, code);
  }

  CodePoints simple_hex(bool four) {
    ++at_;
    uint32_t code = hex(four ? 4 : 2);
    if (code >= 0xD800 && code < 0xDC00 && take("\\u")) {
      const uint32_t low = hex(4);
      if (low < 0xDC00 || low > 0xDFFF) refuse("half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    is_char_ = true;
    last_char_ = code;
    return CodePoints::of(code, code);
  }

  uint32_t hex(int digits) {
    uint32_t code = 0;
    if (digits == 4 && take("{")) {
      while (!take("}")) {
        const int value = hex_digit(peek());
        if (value < 0 || code > kLastCodePoint) refuse("bad \\u{{...}}");
        code = code * 16 + static_cast<uint32_t>(value);
        ++at_;
      }
      if (code > kLastCodePoint) refuse("a character beyond U+10FFFF");
      return code;
    }
    for (int i = 0; i < digits; ++i, ++at_) {
      const int value = hex_digit(peek());
      if (value < 0) refuse("an escape needs {} hexadecimal digits", digits);
      code = code * 16 + static_cast<uint32_t>(value);
    }
    return code;
  }

  CodePoints property(bool inverted) {
    ++at_;
    if (!take("{")) refuse("\\p needs a name in braces");
    const size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) refuse("\\p{{ is not closed");
    const std::string_view name = text_.substr(at_, end - at_);
    CodePoints set;
    if (!CodePoints::property(name, set)) {
      refuse("unknown property \"{}\"", name.substr(0, 40));
    }
    budget_.spend(100'000);  // walks over all characters
    at_ = end + 1;
    return inverted ? set.inverse() : set;
  }

  CodePoints bracket() {
    ++at_;
    const bool inverted = take("^");
    CodePoints set;
    while (peek() != ']' || done()) {
      if (done()) refuse("a [ is not closed");
      const auto one = [this] {
        is_char_ = true;
        if (peek() == '\\') return escape(true);
        const uint32_t code = next_char();
        return CodePoints::of(code, code);
      };
      const auto add = [&](const CodePoints& member) {
        budget_.spend(CodePoints::kRangeWork * (1 + member.ranges().size()));
        set.add(member);
      };
      const CodePoints first = one();
      const bool first_is_char = is_char_;
      const uint32_t low = last_char_;
      if (peek() != '-' || peek(1) == ']' || at_ + 1 >= text_.size()) {
        add(first);
        continue;
      }
      ++at_;
      const CodePoints last = one();
      if (!first_is_char || !is_char_) {  // [\w-x]: three elements
        add(first);
        add(CodePoints::of('-', '-'));
        add(last);
        continue;
      }
      if (last_char_ < low) refuse("a range of characters runs backwards");
      add(CodePoints::of(low, last_char_));
    }
    ++at_;
    if (any_case_) set = any_case(set);
    return inverted ? set.inverse() : set;
  }

  std::string_view text_;
  bool anchored_;
  Budget& budget_;
  size_t at_ = 0;
  std::vector<Lookahead> lookaheads_;
  uint32_t last_char_ = 0;
  bool is_char_ = true;  // the last escape was a single character, last_char_
  bool any_case_ = false;
  bool dot_all_ = false;
  bool dot_excludes_lf_only_ = false;
};

/// Position of a match in the text.
struct Within {
  bool any_before;
  bool any_after;
};
Dfa texts_with(const Expr& expr, Within within, Budget& budget) {
  Nfa nfa(budget);
  const uint32_t start = nfa.add_node(), from = nfa.add_node(), to = nfa.add_node(),
                 final = nfa.add_node();
  nfa.add_epsilon(start, from);
  nfa.add_epsilon(to, final);
  const CodePoints all = CodePoints::all();
  if (within.any_before) {
    const uint32_t later = nfa.add_node();
    add_code_points(nfa, all, start, later);
    add_code_points(nfa, all, later, later);
    nfa.add_epsilon(later, from);
  }
  if (within.any_after) {
    const uint32_t rest = nfa.add_node();
    nfa.add_epsilon(to, rest);
    add_code_points(nfa, all, rest, rest);
    nfa.add_epsilon(rest, final);
  }
  add_expr(nfa, expr, from, to, false);
  return minimise(make_deterministic(nfa, start, final).dfa, budget);
}

}  // namespace

Dfa regex_dfa(std::string_view pattern, bool search, Budget& budget) {
  RegexParser parser(pattern, !search, budget);
  const Expr expr = parser.parse();
  Dfa result = texts_with(expr, {.any_before = search, .any_after = search}, budget);
  for (const Lookahead& ahead : parser.lookaheads()) {
    const Dfa met = texts_with(ahead.what, {.any_before = false, .any_after = true}, budget);
    result = ahead.negative ? without(result, met, budget) : both(result, met, budget);
  }
  return result;
}

Expr regex_expr(std::string_view pattern, RegexFlags flags, Budget& budget) {
  return RegexParser(pattern, false, budget).parse_within(flags);
}

}  // namespace tenon::grammar
