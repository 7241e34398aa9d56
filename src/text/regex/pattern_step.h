// What the programs of patterns consist of.
#pragma once

#include <cstdint>

#include "text/regex/pattern_syntax.h"

namespace tenon {

/// One instruction of a pattern's program.
struct PatternStep {
  enum Op : uint8_t {
    Char,     ///< a character of `set`
    Run,      ///< minimum to maximum characters of `set`, as many as there are
    Possess,  ///< a character of `set` and on to `a`, else on to `b`
    Split,    ///< `a`, and `b` if that fails
    Jump,     ///< to `a`
    Look,     ///< the program after this step matches here (or does not); then on to `a`
    Assert,   ///< `place`
    Match,
  };
  Op op = Match;
  PatternNode::Place place = PatternNode::LineBegin;
  bool negated = false;    ///< Look
  bool behind = false;     ///< Look: `minimum` characters back
  bool keeps_all = false;  ///< Run: giving back never helps
  bool certain = false;    ///< from here a match is certain, so nothing before is tried again
  uint32_t set = 0;
  uint32_t a = 0;
  uint32_t b = 0;  ///< Look of the table program: the same step of the quick program
  uint32_t minimum = 0;
  uint32_t maximum = 0;
};

}  // namespace tenon
