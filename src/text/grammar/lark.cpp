#include "text/grammar/lark.h"

#include <algorithm>
#include <array>

#include "text/grammar/regex.h"
#include "text/grammar/rule_parser.h"

namespace tenon::grammar {
namespace {

constexpr size_t kMaxLarkText = size_t{2} << 20;
/// Nodes of the largest rule that is written in place of its uses, and of the NFA up to which any
/// is.
constexpr uint64_t kMostInPlace = 20'000;
constexpr uint32_t kMostNodesInPlace = 100'000;
constexpr uint32_t kStartRule = 0;
constexpr uint32_t kIgnored = 1;  ///< rule of what %ignore allows after a terminal

/// Terminals of Lark's library "common".
struct CommonTerminal {
  std::string_view name, pattern;
};
#define TENON_LARK_FLOAT \
  "[0-9]+[eE][+\\-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+\\-]?[0-9]+)?"
constexpr std::array kCommonTerminals = {
    CommonTerminal{"CR", "\\r"}, CommonTerminal{"LF", "\\n"},
    CommonTerminal{"NEWLINE", "(?:\\r?\\n)+"}, CommonTerminal{"WS", "[ \\t\\f\\r\\n]+"},
    CommonTerminal{"WS_INLINE", "[ \\t]+"}, CommonTerminal{"DIGIT", "[0-9]"},
    CommonTerminal{"HEXDIGIT", "[0-9a-fA-F]"}, CommonTerminal{"INT", "[0-9]+"},
    CommonTerminal{"SIGNED_INT", "[+\\-]?[0-9]+"},
    CommonTerminal{"DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+"},
    CommonTerminal{"FLOAT", TENON_LARK_FLOAT}, CommonTerminal{"NUMBER", TENON_LARK_FLOAT "|[0-9]+"},
    CommonTerminal{"SIGNED_NUMBER", "[+\\-]?(?:" TENON_LARK_FLOAT "|[0-9]+)"},
    CommonTerminal{"LCASE_LETTER", "[a-z]"}, CommonTerminal{"UCASE_LETTER", "[A-Z]"},
    CommonTerminal{"LETTER", "[A-Za-z]"}, CommonTerminal{"WORD", "[A-Za-z]+"},
    CommonTerminal{"CNAME", "[_A-Za-z][_A-Za-z0-9]*"},
    // Without unescaped inner quotes, which no lexer would include.
    CommonTerminal{"ESCAPED_STRING", "\"(?:[^\"\\\\\\n]|\\\\[^\\n])*\""}};
#undef TENON_LARK_FLOAT

bool is_terminal(std::string_view name) {
  const size_t first = name.find_first_not_of('_');
  return first != name.npos && name[first] >= 'A' && name[first] <= 'Z';
}

class LarkParser final : RuleParser {
 public:
  LarkParser(std::string_view text, Budget& budget) : RuleParser(text, kNotation, budget) {}

  std::vector<NotationRule> parse() {
    if (text_.size() > kMaxLarkText) refuse("the text is larger than {} bytes", kMaxLarkText);
    (void)rule_number("start");
    define(rule_number("%ignore"), line_);
    Expr ignored{.kind = Expr::Kind::Choice};
    for (space(true); !done(); space(true)) {
      if (take("%ignore")) {
        is_terminal_ = true;
        ignored.children.push_back(body());
      } else if (take("%import")) {
        import_common();
      } else if (take("%")) {
        refuse("%{} is not supported", name());
      } else {
        definition();
      }
    }
    refuse_undefined();
    if (!ignored.children.empty()) rules_[kIgnored].expr = repeated(std::move(ignored));
    return std::move(rules_);
  }

 private:
  static constexpr Notation kNotation{.in_names = "_", .escapes = "xuUtrnfv\\\"/", .columns = true};

  static Expr repeated(Expr what, uint64_t maximum = Expr::kForever) {
    Expr result{.kind = Expr::Kind::Repeat, .line = what.line, .maximum = maximum};
    result.children.push_back(std::move(what));
    return result;
  }
  [[nodiscard]] Expr use_of(uint32_t rule) const {
    return {.kind = Expr::Kind::Rule, .line = line_, .rule = rule};
  }
  /// A terminal; in a rule, with what is ignored after it.
  [[nodiscard]] Expr token(Expr terminal, bool in_terminal) const {
    if (in_terminal) return terminal;
    Expr result{.kind = Expr::Kind::Sequence, .line = line_};
    result.children.push_back(std::move(terminal));
    result.children.push_back(use_of(kIgnored));
    return result;
  }

  void space(bool newlines) override {
    for (; !done(); ++at_) {
      const char c = peek();
      if (c == '#' || (c == '/' && text_.substr(at_).starts_with("//"))) {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c == '\n') {
        budget_.pass(1);
        if (!newlines || (in_body_ && ends_body())) return;
        ++line_;
        line_begin_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v') {
        return;
      }
    }
  }

  /// True if the next line begins a definition or a directive.
  [[nodiscard]] bool ends_body() const {
    size_t i = at_ + 1;
    const auto skip = [&](auto is_in) {
      const size_t begin = i;
      while (i < text_.size() && is_in(text_[i])) ++i;
      return i > begin;
    };
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    skip(is_blank);
    if (i < text_.size() && text_[i] == '%') return true;
    skip([](char c) { return c == '?' || c == '!'; });
    if (!skip([this](char c) { return is_name(c); })) return false;
    if (text_.substr(i).starts_with("{")) return true;  // a template
    if (text_.substr(i).starts_with(".")) skip(is_priority);
    skip(is_blank);
    return text_.substr(i).starts_with(":");
  }
  static bool is_priority(char c) { return c == '.' || c == '-' || (c >= '0' && c <= '9'); }

  Expr body() {
    in_body_ = true;
    Expr expr = choice(0);
    in_body_ = false;
    if (!done() && peek() != '\n') refuse("unexpected \"{}\"", shown());
    return expr;
  }

  void definition() {
    const uint32_t line = line_;
    while (peek() == '?' || peek() == '!') ++at_;
    const std::string_view of = name();
    const uint32_t rule = rule_number(of);
    refuse_template();
    if (peek() == '.') {
      while (is_priority(peek())) ++at_;
    }
    space(false);
    if (!take(":")) refuse("expected : after \"{}\"", of);
    define(rule, line);
    is_terminal_ = is_terminal(of);
    Expr expr = without_left_recursion(rule, body());
    rules_[rule].expr = std::move(expr);
  }

  void refuse_template() const {
    if (peek() == '{') refuse_here("templates are not supported");
  }

  /// a: a "x" | "y"  ->  "y" "x"*
  static Expr without_left_recursion(uint32_t rule, Expr expr) {
    const auto recurs = [&](const Expr& child) {
      const std::vector<Expr>& parts = child.children;
      return !parts.empty() && parts[0].kind == Expr::Kind::Rule && parts[0].rule == rule;
    };
    const std::vector<Expr>& all = expr.children;
    if (expr.kind != Expr::Kind::Choice || std::none_of(all.begin(), all.end(), recurs)) {
      return expr;
    }
    Expr first{.kind = Expr::Kind::Choice, .line = expr.line}, rest = first;
    for (Expr& child : expr.children) {
      const bool is_rest = recurs(child);
      if (is_rest) child.children.erase(child.children.begin());
      (is_rest ? rest : first).children.push_back(std::move(child));
    }
    Expr result{.kind = Expr::Kind::Sequence, .line = expr.line};
    result.children.push_back(std::move(first));
    result.children.push_back(repeated(std::move(rest)));
    return result;
  }

  void import_common() {
    space(false);
    if (!take("common")) refuse_here("only terminals of common can be imported");
    if (take(".")) {
      const std::string_view from = name();
      space(false);
      if (!take("->")) return import_as(from, from);
      space(false);
      return import_as(from, name());
    }
    space(false);
    if (!take("(")) refuse_here("%import is of common.NAME or common (NAME, ...)");
    do {
      space(false);
      const std::string_view both = name();
      import_as(both, both);
      space(false);
    } while (take(","));
    if (!take(")")) refuse_here("a ( is not closed");
  }

  void import_as(std::string_view from, std::string_view as) {
    const auto* const common =
        std::find_if(kCommonTerminals.begin(), kCommonTerminals.end(),
                     [&](const CommonTerminal& terminal) { return terminal.name == from; });
    if (common == kCommonTerminals.end()) refuse("common.{} is not known here", from);
    const uint32_t rule = rule_number(as);
    define(rule, line_);
    rules_[rule].expr = token(regex_expr(common->pattern, {}, budget_), is_terminal(as));
  }

  std::optional<Expr> element(uint32_t depth) override {
    space(true);
    const char c = peek();
    if (take("->")) {  // the name of a tree's node
      space(false);
      (void)name();
      return Expr{.kind = Expr::Kind::Empty, .line = line_};
    }
    if (take("(")) return group(depth, ")");
    if (take("[")) return repeated(group(depth, "]"), 1);
    if (c == '"') return token(string_or_range(), is_terminal_);
    if (c == '/') return token(regular_expression(), is_terminal_);
    if (!is_name(c)) return std::nullopt;
    const std::string_view of = name();
    refuse_template();
    Expr use = use_of(rule_number(of));
    return is_terminal(of) ? token(std::move(use), is_terminal_) : std::move(use);
  }

  bool counts(uint64_t& minimum, uint64_t& maximum) override {
    constexpr std::string_view kWhere = "after ~";
    if (!take("~")) return false;
    space(false);
    minimum = maximum = number(kWhere);
    space(false);
    if (take("..")) {
      space(false);
      maximum = number(kWhere);
    }
    return true;
  }

  Expr string_or_range() {
    Expr from = string();
    if (from.children.empty()) refuse_here("a string is empty");
    const size_t before = at_;
    space(false);
    if (take("..")) {
      space(false);
      const Expr to = string();
      const auto code_of = [](const Expr& text) { return text.children[0].chars.ranges()[0].low; };
      if (from.children.size() != 1 || to.children.size() != 1 || code_of(from) > code_of(to)) {
        refuse_here("a range must be of two characters in order");
      }
      return {.kind = Expr::Kind::Chars,
              .line = line_,
              .chars = CodePoints::of(code_of(from), code_of(to))};
    }
    at_ = before;
    const bool ends = at_ + 1 >= text_.size() || !is_name(text_[at_ + 1]);
    if (ends && take("i")) {
      for (Expr& child : from.children) child.chars = child.chars.any_case();
    }
    return from;
  }

  Expr regular_expression() {
    budget_.set_place(place());
    const size_t begin = ++at_;
    for (bool in_class = false; in_class || peek() != '/'; ++at_) {
      if (peek() == '\\') {
        ++at_;
      } else {
        in_class = peek() == '[' || (in_class && peek() != ']');
      }
      if (done() || peek() == '\n') refuse_here("a regular expression is not closed");
    }
    const std::string_view pattern = text_.substr(begin, at_++ - begin);
    RegexFlags flags;
    for (; peek() >= 'a' && peek() <= 'z'; ++at_) {
      if (peek() != 'i' && peek() != 's') refuse("the flag {} is not supported", shown());
      (peek() == 'i' ? flags.any_case : flags.dot_all) = true;
    }
    return regex_expr(pattern, flags, budget_);
  }

  bool in_body_ = false;
  bool is_terminal_ = false;  // the body is that of a terminal
};

/// Writes rules in place of their uses, as far as they do not recur and are small.
class LarkWriter {
 public:
  LarkWriter(const std::vector<NotationRule>& rules, Nfa& nfa)
      : rules_(rules), nfa_(nfa), plans_(rules.size()), sizes_(rules.size(), 1) {}

  /// Returns true if no rule is called.
  bool write() {
    plan(kStartRule);
    plan(kIgnored);
    (void)called(kStartRule);
    for (uint32_t i = 0; i < order_.size(); ++i) {
      uint32_t from = nfa_.rule(i).start;
      const uint32_t final = nfa_.rule(i).final;
      if (i == 0) {
        const uint32_t begun = nfa_.add_node();
        write_in_place(kIgnored, from, begun);
        from = begun;
      }
      write_in_place(order_[i], from, final);
    }
    return !calls_;
  }

 private:
  static constexpr uint32_t kNoNumber = UINT32_MAX;
  struct Use {
    uint32_t rule;
    uint32_t depth;  // in the tree of the rule that uses it
  };
  struct Plan {
    enum : uint8_t { New, Open, Done } state = New;
    bool is_called = false;
    bool has_anchor = false;      // ^ or $
    uint32_t depth = 0;           // of its tree, with the rules in place
    uint32_t number = kNoNumber;  // in the NFA
    std::vector<Use> uses;
  };

  void collect(const Expr& expr, uint32_t depth, Plan& plan) {
    nfa_.budget().spend(1);
    plan.depth = std::max(plan.depth, depth);
    plan.has_anchor |= expr.kind == Expr::Kind::Begin || expr.kind == Expr::Kind::End;
    if (expr.kind == Expr::Kind::Rule) plan.uses.push_back({expr.rule, depth});
    for (const Expr& child : expr.children) collect(child, depth + 1, plan);
  }

  /// Depth-first search; a rule that its own rules come back to recurs.
  void plan(uint32_t root) {
    std::vector<std::pair<uint32_t, size_t>> path;
    const auto open = [&](uint32_t rule) {
      if (plans_[rule].state != Plan::New) return;
      plans_[rule].state = Plan::Open;
      collect(rules_[rule].expr, 0, plans_[rule]);
      path.emplace_back(rule, 0);
    };
    for (open(root); !path.empty();) {
      auto& [rule, next] = path.back();
      Plan& plan = plans_[rule];
      if (next == plan.uses.size()) {
        finish(rule);
        path.pop_back();
        continue;
      }
      const uint32_t used = plan.uses[next++].rule;
      if (plans_[used].state == Plan::Open) {
        plans_[used].is_called = true;
        if (is_terminal(rules_[used].name)) {
          set_place(used);
          nfa_.budget().refuse("terminal \"{}\" needs itself", rules_[used].name);
        }
      }
      open(used);
    }
  }

  void finish(uint32_t rule) {
    Plan& plan = plans_[rule];
    plan.state = Plan::Done;
    for (const Use& use : plan.uses) {
      const Plan& used = plans_[use.rule];
      if (used.is_called) continue;
      plan.depth = std::max(plan.depth, use.depth + used.depth);
      plan.has_anchor |= used.has_anchor;
    }
    const uint64_t size = written_size(rules_[rule].expr, sizes_);
    plan.is_called |= size > kMostInPlace || plan.depth > Budget::kMaxDepth;
    if (!plan.is_called) sizes_[rule] = size;
  }

  void set_place(uint32_t rule) {
    nfa_.budget().set_place([this, rule] { return fmt::format("line {}", rules_[rule].line); });
  }

  uint32_t called(uint32_t rule) {
    Plan& plan = plans_[rule];
    if (plan.number == kNoNumber) {
      order_.push_back(rule);
      plan.number = nfa_.add_rule(fmt::format("line {}", rules_[rule].line));
    }
    return plan.number;
  }

  void write_use(uint32_t rule, uint32_t from, uint32_t to) {
    const Plan& plan = plans_[rule];
    if (!plan.is_called && nfa_.num_nodes() < kMostNodesInPlace) {
      return write_in_place(rule, from, to);
    }
    set_place(rule);
    if (plan.has_anchor) {
      nfa_.budget().refuse("^ and $ in a rule that recurs or is large are not supported");
    }
    calls_ = true;
    nfa_.add_call(from, called(rule), to);
  }

  void write_in_place(uint32_t rule, uint32_t from, uint32_t to) {
    nfa_.budget().spend(1);
    set_place(rule);
    add_expr(nfa_, rules_[rule].expr, from, to, true, &use_);
  }

  const std::vector<NotationRule>& rules_;
  Nfa& nfa_;
  std::vector<Plan> plans_;      // [rules]
  std::vector<uint64_t> sizes_;  // [rules] nodes in place of a use
  std::vector<uint32_t> order_;  // [rules of the NFA]
  bool calls_ = false;
  const RuleUse use_ = [this](uint32_t rule, uint32_t from, uint32_t to) {
    write_use(rule, from, to);
  };
};

}  // namespace

bool read_lark(std::string_view text, Nfa& nfa) {
  const std::vector<NotationRule> rules = LarkParser(text, nfa.budget()).parse();
  nfa.budget().set_place("");  // the parser's place is gone with it
  const bool is_regular = LarkWriter(rules, nfa).write();
  nfa.budget().set_place("");
  return is_regular;
}

}  // namespace tenon::grammar
