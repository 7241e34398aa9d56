// Instructions of compiled patterns.
#pragma once

#include <cstdint>

#include "text/regex/pattern_syntax.h"

namespace tenon {

/// One instruction of a pattern's program.
struct PatternStep {
  enum Op : uint8_t {
    Char,     ///< one character of `set`
    Run,      ///< minimum to maximum characters of `set`, greedily
    Possess,  ///< one character of `set`, then `a`; else `b`
    Split,    ///< `a`; `b` if that fails
    Jump,     ///< continue at `a`
    Look,     ///< tests whether the following program matches here (or not); then `a`
    Assert,   ///< tests `place`
    Match,
  };
  Op op = Match;
  PatternNode::Place place = PatternNode::LineBegin;
  bool negated = false;    ///< Look
  bool behind = false;     ///< Look: `minimum` characters back
  bool keeps_all = false;  ///< Run: giving back never helps
  bool certain = false;    ///< a match is certain from here, so earlier alternatives are dropped
  uint32_t set = 0;
  uint32_t a = 0;
  uint32_t b = 0;  ///< Look of the table program: the same step of the quick program
  uint32_t minimum = 0;
  uint32_t maximum = 0;
};

}  // namespace tenon
