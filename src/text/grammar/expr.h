// Syntax tree of a pattern, common to GBNF and regular expressions.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "text/grammar/code_points.h"

namespace tenon::grammar {

struct Expr {
  enum class Kind : uint8_t { Empty, Chars, Sequence, Choice, Repeat, Rule, Begin, End };
  Kind kind = Kind::Empty;
  uint32_t line = 0;
  CodePoints chars = {};            ///< characters of Chars
  std::vector<Expr> children = {};  ///< parts of Sequence and Choice; exactly one for Repeat
  uint64_t minimum = 0;             ///< least count of Repeat
  uint64_t maximum = 0;             ///< largest count of Repeat; kForever means unbounded
  uint32_t rule = 0;                ///< number of the called rule

  static constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();
  static Expr text(std::string_view utf8, uint32_t line);
};

/// Number of NFA nodes for the tree, saturating at UINT64_MAX.
uint64_t written_size(const Expr& expr);

/// Adds a tree to an NFA between two nodes. Throws Error(Grammar) if the NFA grows too large.
/// lines: messages name the line.
void add_expr(Nfa& nfa, const Expr& expr, uint32_t from, uint32_t to, bool lines);

}  // namespace tenon::grammar
