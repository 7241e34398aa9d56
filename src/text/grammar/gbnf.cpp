#include "text/grammar/gbnf.h"

#include <map>
#include <optional>

#include "text/grammar/expr.h"
#include "text/unicode/hex_digit.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::grammar {
namespace {

constexpr size_t kMaxRules = 20'000;
constexpr size_t kMaxName = 256;
constexpr size_t kMaxText = size_t{8} << 20;
constexpr uint64_t kMaxGbnfRepeat = 1'000'000'000;

struct Rule {
  std::string name;
  uint32_t first_use = 0;  // line
  uint32_t line = 0;       // line of the definition; 0 before it
  Expr expr = {};
};

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class GbnfParser {
 public:
  GbnfParser(std::string_view text, Budget& budget) : text_(text), budget_(budget) {}

  std::vector<Rule> parse() {
    if (text_.size() > kMaxText) refuse("the text is larger than {} bytes", kMaxText);
    (void)rule_number("root");
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    for (space(true); !done(); space(true)) rule();
    if (rules_[0].line == 0) refuse("there is no rule \"root\"");
    for (const Rule& rule : rules_) {
      if (rule.line != 0) continue;
      line_ = rule.first_use;
      refuse("unknown rule \"{}\"", rule.name);
    }
    return std::move(rules_);
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    budget_.set_place(fmt::format("line {}", line_));
    budget_.refuse("{}", fmt::format(text, std::forward<Args>(args)...));
  }

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  /// Skips blanks and comments, and newlines if they have no meaning.
  void space(bool newlines) {
    for (; !done(); ++at_) {
      const char c = peek();
      if (c == '#') {
        while (!done() && peek() != '\n' && peek() != '\r') ++at_;
        --at_;
      } else if (c == '\n' || c == '\r') {
        if (!newlines) return;
        if (c == '\n') ++line_;
      } else if (c != ' ' && c != '\t') {
        return;
      }
    }
  }

  std::string_view name() {
    const size_t begin = at_;
    while (!done() && is_name(peek())) ++at_;
    if (at_ == begin) {
      const std::string_view rest = text_.substr(at_, 1);
      refuse("expected the name of a rule at \"{}\"", done() ? "the end" : printable(rest));
    }
    if (at_ - begin > kMaxName) refuse("the name of a rule is longer than {} bytes", kMaxName);
    return text_.substr(begin, at_ - begin);
  }

  static std::string printable(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) text += c >= 0x20 && c < 0x7F ? c : '?';
    return text;
  }

  uint32_t rule_number(std::string_view name) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    if (rules_.size() >= kMaxRules) refuse("more than {} rules", kMaxRules);
    const auto number = static_cast<uint32_t>(rules_.size());
    rules_.push_back({.name = std::string(name), .first_use = line_});
    numbers_.emplace(name, number);
    return number;
  }

  void rule() {
    const uint32_t line = line_;
    const std::string_view of = name();
    const uint32_t number = rule_number(of);
    space(false);
    if (!take("::=")) refuse("expected ::= after \"{}\"", of);
    space(true);
    Expr expr = choice(0);
    if (!done() && peek() != '\n' && peek() != '\r') {
      refuse("unexpected \"{}\"", printable(text_.substr(at_, 1)));
    }
    Rule& rule = rules_[number];
    if (rule.line != 0) refuse("rule \"{}\" is defined again", of);
    rule.line = line;
    rule.expr = std::move(expr);
  }

  void add_part() {
    budget_.set_place([this] { return fmt::format("line {}", line_); });
    budget_.add_parts(1);
  }

  Expr choice(uint32_t depth) {
    if (budget_.is_too_deep(depth)) {
      refuse("groups are nested deeper than {}, or than the stack allows", Budget::kMaxDepth);
    }
    Expr result{.kind = Expr::Kind::Choice, .line = line_};
    do {
      space(true);
      add_part();
      result.children.push_back(sequence(depth));
    } while (take("|"));
    return result.children.size() == 1 ? std::move(result.children[0]) : std::move(result);
  }

  Expr sequence(uint32_t depth) {
    Expr result{.kind = Expr::Kind::Sequence, .line = line_};
    for (;; space(depth > 0)) {
      std::optional<Expr> item = element(depth);
      if (!item) return result;
      repeat(*item);
      add_part();
      result.children.push_back(std::move(*item));
    }
  }

  std::optional<Expr> element(uint32_t depth) {
    const char c = peek();
    if (c == '"') return literal();
    if (c == '[') return Expr{.kind = Expr::Kind::Chars, .line = line_, .chars = bracket()};
    if (take("."))
      return Expr{.kind = Expr::Kind::Chars, .line = line_, .chars = CodePoints::all()};
    if (take("(")) {
      Expr inner = choice(depth + 1);
      space(true);
      if (!take(")")) refuse("a ( is not closed");
      return inner;
    }
    if (c == '<' || c == '!') {
      refuse("tokens (<name>, <[id]>) are not supported; write the text that they stand for");
    }
    if (!is_name(c)) return std::nullopt;
    const std::string_view of = name();
    return Expr{.kind = Expr::Kind::Rule, .line = line_, .rule = rule_number(of)};
  }

  /// Reads a character or an escape inside quotes or brackets.
  uint32_t character() {
    if (done()) refuse("the text ends inside quotes or brackets");
    if (peek() == '\n') refuse("a newline inside quotes or brackets");
    if (!take("\\")) {
      const Utf8Unit unit = utf8_unit(text_.substr(at_));
      if (unit.kind != Utf8Unit::Whole) refuse("a character is not UTF-8");
      at_ += unit.size;
      return unit.code;
    }
    if (done()) refuse("the text ends in a backslash");
    const char c = text_[at_++];
    switch (c) {
      case 'x':
        return hex(2);
      case 'u':
        return hex(4);
      case 'U':
        return hex(8);
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
      case '/':
        return static_cast<uint32_t>(c);
      default:
        refuse("unknown escape \\{}", printable({&c, 1}));
    }
  }

  uint32_t hex(int digits) {
    uint32_t code = 0;
    for (int i = 0; i < digits; ++i) {
      const int value = hex_digit(peek());
      if (value < 0) refuse("an escape needs {} hexadecimal digits", digits);
      code = code << 4 | static_cast<uint32_t>(value);
      ++at_;
    }
    if (code > kLastCodePoint || (code >= 0xD800 && code <= 0xDFFF)) {
      refuse("an escape names {:#x}, which is no character", code);
    }
    return code;
  }

  Expr literal() {
    ++at_;
    Expr result{.kind = Expr::Kind::Sequence, .line = line_};
    while (!take("\"")) {
      if (done()) refuse("a string is not closed");
      const uint32_t code = character();
      add_part();
      result.children.push_back(
          {.kind = Expr::Kind::Chars, .line = line_, .chars = CodePoints::of(code, code)});
    }
    return result;
  }

  CodePoints bracket() {
    ++at_;
    const bool inverted = take("^");
    CodePoints set;
    while (!take("]")) {
      if (done()) refuse("a [ is not closed");
      const uint32_t low = character();
      uint32_t high = low;
      if (peek() == '-' && !text_.substr(at_).starts_with("-]")) {
        ++at_;
        high = character();
      }
      if (high < low) refuse("a range of characters runs backwards");
      set.add(low, high);
      budget_.spend(CodePoints::kRangeWork);
    }
    return inverted ? set.inverse() : set;
  }

  uint64_t number() {
    if (peek() < '0' || peek() > '9') refuse("expected a number in braces");
    uint64_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      value = value * 10 + static_cast<uint64_t>(peek() - '0');
      if (value > kMaxGbnfRepeat) refuse("a repetition of more than {} times", kMaxGbnfRepeat);
    }
    return value;
  }

  void repeat(Expr& item) {
    for (uint32_t times = 0;; ++times) {
      const size_t before = at_;
      space(false);
      uint64_t minimum = 0, maximum = Expr::kForever;
      if (take("*")) {
      } else if (take("+")) {
        minimum = 1;
      } else if (take("?")) {
        maximum = 1;
      } else if (take("{")) {
        space(true);
        minimum = peek() == ',' ? 0 : number();
        maximum = minimum;
        space(true);
        if (take(",")) {
          space(true);
          maximum = peek() == '}' ? Expr::kForever : number();
          space(true);
        }
        if (!take("}")) refuse("a {{ is not closed");
        if (maximum < minimum) refuse("a repetition of {} to {} times", minimum, maximum);
      } else {
        at_ = before;
        return;
      }
      // Count over the whole text: nested groups would otherwise nest deeper than the stack.
      if (times > 0 && ++repeated_ > Budget::kMaxDepth) {
        refuse("more than {} repetitions of repetitions", Budget::kMaxDepth);
      }
      Expr child = std::move(item);
      item = {.kind = Expr::Kind::Repeat, .line = line_, .minimum = minimum, .maximum = maximum};
      item.children.push_back(std::move(child));
    }
  }

  std::string_view text_;
  Budget& budget_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  uint32_t repeated_ = 0;  // consecutive repetitions
  std::vector<Rule> rules_;
  std::map<std::string, uint32_t, std::less<>> numbers_;
};

}  // namespace

void read_gbnf(std::string_view text, Nfa& nfa) {
  Budget& budget = nfa.budget();
  const std::vector<Rule> rules = GbnfParser(text, budget).parse();
  budget.set_place("");  // the parser's place is gone with it
  for (const Rule& rule : rules) (void)nfa.add_rule(fmt::format("line {}", rule.line));
  for (uint32_t i = 0; i < rules.size(); ++i) {
    budget.set_place(fmt::format("line {}", rules[i].line));
    add_expr(nfa, rules[i].expr, nfa.rule(i).start, nfa.rule(i).final, true);
  }
  budget.set_place("");
}

}  // namespace tenon::grammar
