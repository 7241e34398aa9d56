// Syntax tree of a pattern, common to GBNF, Lark and regular expressions.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/grammar/code_points.h"

namespace tenon::grammar {

struct Expr {
  enum class Kind : uint8_t { Empty, Chars, Sequence, Choice, Repeat, Rule, Begin, End };
  Kind kind = Kind::Empty;
  uint32_t line = 0;                ///< 0 if unknown
  CodePoints chars = {};            ///< characters of Chars
  std::vector<Expr> children = {};  ///< parts of Sequence and Choice; exactly one for Repeat
  uint64_t minimum = 0;             ///< least count of Repeat
  uint64_t maximum = 0;             ///< largest count of Repeat; kForever means unbounded
  uint32_t rule = 0;                ///< number of the called rule

  static constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();
  static Expr text(std::string_view utf8, uint32_t line);
};

/// Number of NFA nodes for the tree, saturating at UINT64_MAX.
///   rules  [rules] sizes of the called rules; empty: 1 each
uint64_t written_size(const Expr& expr, std::span<const uint64_t> rules = {});

/// Writes the use of a rule between two nodes.
using RuleUse = std::function<void(uint32_t rule, uint32_t from, uint32_t to)>;

/// Adds a tree to an NFA between two nodes. Throws Error(Grammar) if the NFA grows too large.
///   lines  messages name the line
///   use    may be null; else writes the uses of rules, which are calls otherwise
void add_expr(Nfa& nfa, const Expr& expr, uint32_t from, uint32_t to, bool lines,
              const RuleUse* use = nullptr);

}  // namespace tenon::grammar
