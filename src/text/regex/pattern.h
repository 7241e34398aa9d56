// A regular expression, compiled for finding successive matches in a text. pattern_search does the
// search.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/regex/pattern_dfa.h"
#include "text/regex/pattern_step.h"
#include "text/unicode/char_set.h"

namespace tenon {

/// Immutable. Holds equivalent programs: a quick one for backtracking, which passes runs of
/// characters in one step; one of single characters, for the table that bounds the time; and, if
/// possible, the latter's states over ASCII.
class Pattern {
 public:
  /// Compiles a pattern. Errors as in parse_pattern; Limit for a program of more than kMaxSteps.
  explicit Pattern(std::string_view source);

  static constexpr size_t kMaxSteps = 16384;

  /// True if a match may begin with a character whose first byte is `byte`.
  [[nodiscard]] bool may_begin(uint8_t byte) const { return begins_[byte] != 0; }
  /// True if a match may need no particular next character, as at the end of the text.
  [[nodiscard]] bool may_be_empty() const { return empty_starts_ != 0 || loops_on_nothing_; }

 private:
  friend class PatternSearch;
  friend class PatternCompiler;

  static constexpr size_t kMaxBranches = 64;

  std::vector<CharSet> sets_;
  CharSet words_;  // \w, for word edges
  std::vector<PatternStep> quick_;
  std::vector<uint32_t> branches_;            // start of each alternative in quick_
  std::array<uint64_t, 128> ascii_starts_{};  // bit i: branch i may begin with the character
  uint64_t wide_starts_ = 0;        // bit i: branch i may begin with another character or the end
  uint64_t empty_starts_ = 0;       // branches that may match without a next character
  bool loops_on_nothing_ = false;   // quick_ might not end: always use the table
  std::vector<PatternStep> table_;  // starts at step 0
  PatternDfa dfa_;                  // may be empty
  std::array<uint8_t, 256> begins_{};  // 1: a match may begin with this byte
  // Steps ordered so that a step without consumption follows its targets.
  std::vector<uint32_t> table_order_;
};

}  // namespace tenon
