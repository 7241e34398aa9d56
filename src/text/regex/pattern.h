// A regular expression compiled for finding match after match in a text; the searching itself is in
// pattern_search.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/regex/pattern_dfa.h"
#include "text/regex/pattern_step.h"
#include "text/unicode/char_set.h"

namespace tenon {

/// Immutable. Programs of the same meaning: a quick one that runs of characters pass in one step,
/// for backtracking; one of single characters, for the table that bounds the time; and where
/// possible the states of the latter over ASCII.
class Pattern {
 public:
  /// Errors as parse_pattern; Limit for a program of more than kMaxSteps.
  explicit Pattern(std::string_view source);

  static constexpr size_t kMaxSteps = 16384;

  /// Whether a match may begin with a character whose first byte is this one.
  [[nodiscard]] bool may_begin(uint8_t byte) const { return begins_[byte] != 0; }
  /// Whether it may match where no particular character follows, as at the end of the text.
  [[nodiscard]] bool may_be_empty() const { return empty_starts_ != 0 || loops_on_nothing_; }

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
  uint64_t empty_starts_ = 0;          // branches that need no character there
  bool loops_on_nothing_ = false;      // quick_ might not end: the table is for all
  std::vector<PatternStep> table_;     // from step 0
  PatternDfa dfa_;                     // may be empty
  std::array<uint8_t, 256> begins_{};  // 1: a match may begin with this byte
  std::vector<uint32_t> table_order_;  // steps such that those that consume nothing come later
                                       // than those they lead to
};

}  // namespace tenon
