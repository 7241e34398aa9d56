// The tree of a pattern, as GBNF and regular expressions give it; how it is written stands with
// their parsers.
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
  CodePoints chars = {};            ///< Chars
  std::vector<Expr> children = {};  ///< Sequence, Choice; one for Repeat
  uint64_t minimum = 0;             ///< Repeat
  uint64_t maximum = 0;             ///< Repeat; kForever: without end
  uint32_t rule = 0;                ///< Rule

  static constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();
  static Expr text(std::string_view utf8, uint32_t line);
};

/// Nodes that the tree takes in an NFA; grows no further than UINT64_MAX.
uint64_t written_size(const Expr& expr);

/// Puts a tree into an NFA between two nodes. Throws Error(Grammar) where it grows too large.
/// `lines`: messages name the line.
void add_expr(Nfa& nfa, const Expr& expr, uint32_t from, uint32_t to, bool lines);

}  // namespace tenon::grammar
