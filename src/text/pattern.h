// A regular expression compiled for finding match after match in a text; the searching itself is in
// pattern_search.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/char_set.h"
#include "text/pattern_syntax.h"

namespace tenon {

/// One instruction of a pattern's program.
struct PatternStep {
  enum Op : uint8_t {
    Char,     ///< a character of `set`
    Run,      ///< minimum to maximum characters of `set`, as many as there are
    Possess,  ///< a character of `set` and on to `a`, else on to `b`
    Split,    ///< `a`, and `b` if that fails
    Jump,     ///< to `a`
    Look,     ///< the program behind this step matches here (or does not); then on to `a`
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

/// Immutable. Two programs of the same meaning: a quick one that runs of characters pass in one
/// step, for backtracking, and one of single characters, for the table that bounds the time.
class Pattern {
 public:
  /// Errors as parse_pattern; Limit for a program of more than kMaxSteps.
  explicit Pattern(std::string_view source);

  static constexpr size_t kMaxSteps = 16384;

 private:
  friend class PatternSearch;
  friend class PatternCompiler;

  static constexpr size_t kMaxBranches = 64;

  std::vector<CharSet> sets_;
  CharSet words_;  // \w, for word edges
  std::vector<PatternStep> quick_;
  std::vector<uint32_t> branches_;            // where the alternatives begin in quick_
  std::array<uint64_t, 128> ascii_starts_{};  // bit i: branch i may begin with the character
  uint64_t wide_starts_ = 0;           // the same for all others, and for the end of the text
  uint64_t empty_starts_ = 0;          // branches that may match nothing
  bool loops_on_nothing_ = false;      // quick_ might not end: the table is for all
  std::vector<PatternStep> table_;     // from step 0
  std::vector<uint32_t> table_order_;  // steps such that those that consume nothing come later
                                       // than those they lead to
};

}  // namespace tenon
