#include "text/grammar/gbnf.h"

#include "text/grammar/rule_parser.h"

namespace tenon::grammar {
namespace {

constexpr size_t kMaxText = size_t{8} << 20;

class GbnfParser final : RuleParser {
 public:
  GbnfParser(std::string_view text, Budget& budget) : RuleParser(text, kNotation, budget) {}

  std::vector<NotationRule> parse() {
    if (text_.size() > kMaxText) refuse("the text is larger than {} bytes", kMaxText);
    (void)rule_number("root");
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    for (space(true); !done(); space(true)) rule();
    refuse_undefined();
    return std::move(rules_);
  }

 private:
  static constexpr Notation kNotation{
      .in_names = "-_", .escapes = "xuUtrn\\\"[]-^/", .columns = false};

  void space(bool newlines) override {
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

  void rule() {
    const uint32_t line = line_;
    const std::string_view of = name();
    const uint32_t number = rule_number(of);
    space(false);
    if (!take("::=")) refuse("expected ::= after \"{}\"", of);
    space(true);
    Expr expr = choice(0);
    if (!done() && peek() != '\n' && peek() != '\r') refuse("unexpected \"{}\"", shown());
    define(number, line);
    rules_[number].expr = std::move(expr);
  }

  std::optional<Expr> element(uint32_t depth) override {
    const char c = peek();
    if (c == '"') return string();
    if (c == '[') return Expr{.kind = Expr::Kind::Chars, .line = line_, .chars = bracket()};
    if (take("."))
      return Expr{.kind = Expr::Kind::Chars, .line = line_, .chars = CodePoints::all()};
    if (take("(")) return group(depth, ")");
    if (c == '<' || c == '!') {
      refuse_here("tokens (<name>, <[id]>) are not supported; write the text that they stand for");
    }
    if (!is_name(c)) return std::nullopt;
    const std::string_view of = name();
    return Expr{.kind = Expr::Kind::Rule, .line = line_, .rule = rule_number(of)};
  }

  CodePoints bracket() {
    ++at_;
    const bool inverted = take("^");
    CodePoints set;
    while (!take("]")) {
      if (done()) refuse_here("a [ is not closed");
      const uint32_t low = character();
      uint32_t high = low;
      if (peek() == '-' && !text_.substr(at_).starts_with("-]")) {
        ++at_;
        high = character();
      }
      if (high < low) refuse_here("a range of characters runs backwards");
      set.add(low, high);
      budget_.spend(CodePoints::kRangeWork);
    }
    return inverted ? set.inverse() : set;
  }

  bool counts(uint64_t& minimum, uint64_t& maximum) override {
    constexpr std::string_view kWhere = "in braces";
    if (!take("{")) return false;
    space(true);
    minimum = peek() == ',' ? 0 : number(kWhere);
    maximum = minimum;
    space(true);
    if (take(",")) {
      space(true);
      maximum = peek() == '}' ? Expr::kForever : number(kWhere);
      space(true);
    }
    if (!take("}")) refuse_here("a { is not closed");
    return true;
  }
};

}  // namespace

void read_gbnf(std::string_view text, Nfa& nfa) {
  Budget& budget = nfa.budget();
  const std::vector<NotationRule> rules = GbnfParser(text, budget).parse();
  budget.set_place("");  // the parser's place is gone with it
  for (const NotationRule& rule : rules) (void)nfa.add_rule(fmt::format("line {}", rule.line));
  for (uint32_t i = 0; i < rules.size(); ++i) {
    budget.set_place(fmt::format("line {}", rules[i].line));
    add_expr(nfa, rules[i].expr, nfa.rule(i).start, nfa.rule(i).final, true);
  }
  budget.set_place("");
}

}  // namespace tenon::grammar
