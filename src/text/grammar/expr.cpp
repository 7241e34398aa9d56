#include "text/grammar/expr.h"

#include "base/saturating.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::grammar {
namespace {

/// Number of copies that a repetition is unrolled to.
uint64_t copies(const Expr& repeat) {
  if (repeat.maximum == Expr::kForever) return saturating_add(repeat.minimum, 1);
  return repeat.maximum;
}

class ExprWriter {
 public:
  ExprWriter(Nfa& nfa, bool lines, const RuleUse* use) : nfa_(nfa), lines_(lines), use_(use) {}

  void add(const Expr& expr, uint32_t from, uint32_t to) {
    switch (expr.kind) {
      case Expr::Kind::Empty:
        nfa_.add_epsilon(from, to);
        return;
      case Expr::Kind::Chars:
        add_code_points(nfa_, expr.chars, from, to);
        return;
      case Expr::Kind::Sequence:
        for (size_t i = 0; i < expr.children.size(); ++i) {
          const uint32_t next = i + 1 < expr.children.size() ? nfa_.add_node() : to;
          add(expr.children[i], from, next);
          from = next;
        }
        if (expr.children.empty()) nfa_.add_epsilon(from, to);
        return;
      case Expr::Kind::Choice:
        for (const Expr& child : expr.children) add(child, from, to);
        return;
      case Expr::Kind::Repeat:
        add_repeat(expr, from, to);
        return;
      case Expr::Kind::Rule:
        if (use_ != nullptr) return (*use_)(expr.rule, from, to);
        nfa_.add_call(from, expr.rule, to);
        return;
      case Expr::Kind::Begin:
        nfa_.add_edge(from, {.kind = EdgeKind::Begin, .to = to});
        return;
      case Expr::Kind::End:
        nfa_.add_edge(from, {.kind = EdgeKind::End, .to = to});
        return;
    }
  }

 private:
  void add_repeat(const Expr& expr, uint32_t from, uint32_t to) {
    if (copies(expr) == 0) return nfa_.add_epsilon(from, to);
    const Expr& child = expr.children[0];
    const uint64_t size = saturating_mul(saturating_add(written_size(child), 1), copies(expr));
    if (size > Budget::kMaxNodes) {
      if (lines_ && expr.line != 0) nfa_.budget().set_place(fmt::format("line {}", expr.line));
      nfa_.budget().refuse("a repetition of {} times is larger than {} nodes when written out",
                           copies(expr), Budget::kMaxNodes);
    }
    uint32_t node = nfa_.add_node();
    nfa_.add_epsilon(from, node);
    for (uint64_t i = 0; i < copies(expr); ++i) {
      if (i >= expr.minimum) nfa_.add_epsilon(node, to);
      const bool loops = expr.maximum == Expr::kForever && i == expr.minimum;
      const uint32_t next = loops ? node : nfa_.add_node();
      add(child, node, next);
      node = next;
    }
    if (expr.maximum != Expr::kForever) nfa_.add_epsilon(node, to);
  }

  Nfa& nfa_;
  bool lines_;
  const RuleUse* use_;
};

}  // namespace

Expr Expr::text(std::string_view utf8, uint32_t line) {
  Expr result{.kind = Kind::Sequence, .line = line};
  while (!utf8.empty()) {
    const Utf8Unit unit = utf8_unit(utf8);
    result.children.push_back(
        {.kind = Kind::Chars, .line = line, .chars = CodePoints::of(unit.code, unit.code)});
    utf8.remove_prefix(unit.size);
  }
  return result;
}

uint64_t written_size(const Expr& expr, std::span<const uint64_t> rules) {
  if (expr.kind == Expr::Kind::Rule && !rules.empty()) return rules[expr.rule];
  if (expr.kind == Expr::Kind::Chars) return 1 + expr.chars.ranges().size();
  if (expr.kind == Expr::Kind::Repeat && copies(expr) == 0) return 1;
  uint64_t sum = 1;
  for (const Expr& child : expr.children) {
    sum = saturating_add(sum, saturating_add(written_size(child, rules), 1));
  }
  return expr.kind == Expr::Kind::Repeat ? saturating_mul(sum, copies(expr)) : sum;
}

void add_expr(Nfa& nfa, const Expr& expr, uint32_t from, uint32_t to, bool lines,
              const RuleUse* use) {
  ExprWriter(nfa, lines, use).add(expr, from, to);
}

}  // namespace tenon::grammar
