// A pattern as a table of states over ASCII, which finds the matches that lie among ASCII
// characters faster than backtracking does.
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

/// A state stands for the ways a match can go on, in the order in which a backtracking engine would
/// try them, so the answers are the same. The next character decides what look-ahead for one
/// character says, so a step of the table is (state, next character or end) -> (state, whether a
/// match ends before that character). Immutable.
class PatternDfa {
 public:
  /// Without states: matches nothing.
  PatternDfa() = default;
  /// steps: a program of single characters. It stays without states when that looks behind, further
  /// ahead than one character or at the edges of words, or takes more than kMaxStates.
  PatternDfa(std::span<const PatternStep> steps, std::span<const CharSet> sets);

  [[nodiscard]] bool empty() const { return cells_.empty(); }

  static constexpr uint32_t kNoMatch = UINT32_MAX;
  static constexpr uint32_t kUnknown = UINT32_MAX - 1;

  /// Where a match that begins at byte `at` of `text` ends, or kNoMatch, or kUnknown when a
  /// character beyond ASCII would decide. stop: the first byte that was not looked at.
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

  /// Whether a match may begin with the ASCII character `byte`.
  [[nodiscard]] bool may_begin(uint8_t byte) const { return cells_[columns_[byte]] != kFails; }

  static constexpr size_t kMaxStates = 1024;

 private:
  friend class PatternDfaBuilder;

  static constexpr uint32_t kMatches = 1;
  static constexpr uint32_t kDead = UINT32_MAX >> 1;  // as a row: nothing can follow
  static constexpr uint32_t kFails = kDead << 1;

  std::array<uint8_t, 128> columns_{};  // which characters no set of the pattern tells apart
  uint32_t end_column_ = 0;
  std::vector<uint32_t> cells_;  // [states, columns] row of the next state << 1 | kMatches
};

}  // namespace tenon
