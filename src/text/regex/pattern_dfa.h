// A pattern as a table of states over ASCII. Finds matches among ASCII characters faster than
// backtracking.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/regex/pattern_step.h"
#include "text/unicode/char_set.h"

namespace tenon {

/// A state is the list of ways a match can continue, in the order of a backtracking engine, so
/// results are equal. The next character decides one-character look-ahead. So a step maps (state,
/// next character or end) to (state, whether a match ends before that character). Immutable.
class PatternDfa {
 public:
  /// Makes a table without states, which matches nothing.
  PatternDfa() = default;
  /// steps: a program of single characters. The table stays empty if the program looks behind,
  /// looks ahead by more than one character, tests word edges, or needs more than kMaxStates.
  PatternDfa(std::span<const PatternStep> steps, std::span<const CharSet> sets);

  [[nodiscard]] bool empty() const { return cells_.empty(); }

  static constexpr uint32_t kNoMatch = UINT32_MAX;
  static constexpr uint32_t kUnknown = UINT32_MAX - 1;

  /// End of the match that begins at byte `at` of `text`. kNoMatch if there is none, kUnknown if a
  /// non-ASCII character decides. stop: the first byte that was not examined.
  [[nodiscard]] uint32_t match(std::string_view text, uint32_t at, uint32_t& stop) const {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
    const auto size = static_cast<uint32_t>(text.size());
    uint32_t end = kNoMatch;
    uint32_t row = 0;
    for (;; ++at) {
      uint32_t column = end_column_;
      if (at < size) {
        if (bytes[at] >= 128) {
          stop = at;
          return kUnknown;
        }
        column = columns_[bytes[at]];
      }
      const uint32_t cell = cells_[row + column];
      if ((cell & kMatches) != 0) end = at;
      row = cell >> 1;
      if (row == kDead) break;
    }
    stop = at;
    return end;
  }

  /// True if a match may begin with the ASCII character `byte`.
  [[nodiscard]] bool may_begin(uint8_t byte) const { return cells_[columns_[byte]] != kFails; }

  static constexpr size_t kMaxStates = 1024;

 private:
  friend class PatternDfaBuilder;

  static constexpr uint32_t kMatches = 1;
  static constexpr uint32_t kDead = UINT32_MAX >> 1;  // as a row: no continuation
  static constexpr uint32_t kFails = kDead << 1;

  // Equivalence classes of characters under the pattern's sets.
  std::array<uint8_t, 128> columns_{};
  uint32_t end_column_ = 0;
  std::vector<uint32_t> cells_;  // [states, columns] row of the next state << 1 | kMatches
};

}  // namespace tenon
