#include "text/grammar/rule_parser.h"

#include <algorithm>

#include "text/unicode/hex_digit.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::grammar {
namespace {

constexpr size_t kMaxRules = 20'000;
constexpr size_t kMaxName = 256;
constexpr uint64_t kMaxRuleRepeat = 1'000'000'000;

}  // namespace

std::string RuleParser::place(size_t back) const {
  std::string place = fmt::format("line {}", line_);
  if (notation_.columns) place += fmt::format(", column {}", at_ - line_begin_ + 1 - back);
  return place;
}

void RuleParser::refuse_here(std::string_view why) const {
  budget_.set_place(place());
  budget_.refuse("{}", why);
}

bool RuleParser::take(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

bool RuleParser::is_name(char c) const {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         notation_.in_names.find(c) != notation_.in_names.npos;
}

std::string RuleParser::shown() const {
  if (done()) return "the end";
  return std::string(1, peek() >= 0x20 && peek() < 0x7F ? peek() : '?');
}

std::string_view RuleParser::name() {
  const size_t begin = at_;
  while (!done() && is_name(peek())) ++at_;
  if (at_ == begin) refuse("expected the name of a rule at \"{}\"", shown());
  if (at_ - begin > kMaxName) refuse("the name of a rule is longer than {} bytes", kMaxName);
  return text_.substr(begin, at_ - begin);
}

uint32_t RuleParser::rule_number(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  if (rules_.size() >= kMaxRules) refuse("more than {} rules", kMaxRules);
  const auto number = static_cast<uint32_t>(rules_.size());
  const size_t begin = std::min(name.size(), at_ - line_begin_);
  rules_.push_back({.name = std::string(name), .first_use = place(begin)});
  numbers_.emplace(name, number);
  return number;
}

void RuleParser::define(uint32_t rule, uint32_t line) {
  if (rules_[rule].line != 0) refuse("rule \"{}\" is defined again", rules_[rule].name);
  rules_[rule].line = line;
}

void RuleParser::refuse_undefined() const {
  if (rules_[0].line == 0) refuse("there is no rule \"{}\"", rules_[0].name);
  for (const NotationRule& rule : rules_) {
    if (rule.line != 0) continue;
    budget_.set_place(rule.first_use);
    budget_.refuse("unknown rule \"{}\"", rule.name);
  }
}

void RuleParser::add_part() {
  budget_.set_place([this] { return place(); });
  budget_.add_parts(1);
}

Expr RuleParser::choice(uint32_t depth) {
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

Expr RuleParser::sequence(uint32_t depth) {
  Expr result{.kind = Expr::Kind::Sequence, .line = line_};
  for (;; space(depth > 0)) {
    std::optional<Expr> item = element(depth);
    if (!item) return result;
    repeat(*item);
    add_part();
    result.children.push_back(std::move(*item));
  }
}

Expr RuleParser::group(uint32_t depth, std::string_view close) {
  Expr inner = choice(depth + 1);
  space(true);
  if (!take(close)) refuse("a {} is not closed", close == ")" ? "(" : "[");
  return inner;
}

uint32_t RuleParser::character() {
  if (done()) refuse_here("the text ends inside quotes or brackets");
  if (peek() == '\n') refuse_here("a newline inside quotes or brackets");
  if (!take("\\")) {
    const Utf8Unit unit = utf8_unit(text_.substr(at_));
    if (unit.kind != Utf8Unit::Whole) refuse_here("a character is not UTF-8");
    at_ += unit.size;
    return unit.code;
  }
  if (done()) refuse_here("the text ends in a backslash");
  if (notation_.escapes.find(peek()) == notation_.escapes.npos) {
    refuse("unknown escape \\{}", shown());
  }
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
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    default:
      return static_cast<uint32_t>(c);
  }
}

uint32_t RuleParser::hex(int digits) {
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

Expr RuleParser::string() {
  if (!take("\"")) refuse_here("expected a string");
  Expr result{.kind = Expr::Kind::Sequence, .line = line_};
  while (!take("\"")) {
    if (done()) refuse_here("a string is not closed");
    const uint32_t code = character();
    add_part();
    result.children.push_back(
        {.kind = Expr::Kind::Chars, .line = line_, .chars = CodePoints::of(code, code)});
  }
  return result;
}

uint64_t RuleParser::number(std::string_view where) {
  if (peek() < '0' || peek() > '9') refuse("expected a number {}", where);
  uint64_t value = 0;
  for (; peek() >= '0' && peek() <= '9'; ++at_) {
    value = value * 10 + static_cast<uint64_t>(peek() - '0');
    if (value > kMaxRuleRepeat) refuse("a repetition of more than {} times", kMaxRuleRepeat);
  }
  return value;
}

void RuleParser::repeat(Expr& item) {
  for (uint32_t times = 0;; ++times) {
    const size_t before = at_;
    space(false);
    uint64_t minimum = 0, maximum = Expr::kForever;
    if (take("*")) {
    } else if (take("+")) {
      minimum = 1;
    } else if (take("?")) {
      maximum = 1;
    } else if (counts(minimum, maximum)) {
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

}  // namespace tenon::grammar
