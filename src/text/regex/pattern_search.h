// Finds the matches of a pattern in a text, one after the other, with the answers of a backtracking
// engine and in linear time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/regex/pattern.h"

namespace tenon {

/// Where a pattern matches: bytes [begin, end) of the text.
struct PatternMatch {
  size_t begin = 0;
  size_t end = 0;
};

/// A search through one text at a time; memory is kept from text to text. The pattern and the text
/// must outlive it.
///
/// Matches among ASCII characters come from the states of the pattern, where it has some. Elsewhere
/// it backtracks, which is quick where patterns are used as intended. When that has taken more than
/// a fixed number of steps per byte of the text, a table over the rest of it (position by position
/// from its end, the match that begins there) answers instead: steps of the pattern times bytes at
/// the very worst.
class PatternSearch {
 public:
  explicit PatternSearch(const Pattern& pattern) : pattern_(&pattern) {}

  /// Starts at the beginning of `text`, well-formed UTF-8 below 4 GiB. It is all that look-around
  /// and anchors see.
  void begin(std::string_view text);

  /// The next match; false at the end. Matches of nothing are found too, but not directly after
  /// another match.
  bool next(PatternMatch& match);

  /// Steps taken in the present text, a measure of the work; those of the table do not count.
  [[nodiscard]] int64_t work() const { return work_ - steps_left_; }

  /// For tests: answer with the table from the start.
  void always_use_table(bool value) { table_always_ = value; }

 private:
  /// What to try when the present way fails: step `step` at byte `at`, then (of a run that can give
  /// back) one character earlier, down to `lowest`.
  struct Choice {
    uint32_t step;
    uint32_t at;
    uint32_t lowest;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t match_at(uint32_t at);
  uint32_t match_branch(uint32_t step, uint32_t at);
  bool run_step(const PatternStep& step, uint32_t number, uint32_t& at);
  bool look(const PatternStep& step, uint32_t number, uint32_t at);
  [[nodiscard]] bool holds(PatternNode::Place place, uint32_t at) const;
  [[nodiscard]] bool is_word(uint32_t at) const;
  [[nodiscard]] uint32_t before(uint32_t at) const;
  [[nodiscard]] uint32_t after(uint32_t at) const;
  void fill_table(uint32_t from);
  uint32_t table_value(const PatternStep& step, uint32_t number, uint32_t at, uint32_t char_size);
  std::vector<uint32_t>& row(uint32_t at) { return rows_[at % kRows]; }

  static constexpr uint32_t kRows = 8;  // a character has at most 4 bytes

  const Pattern* pattern_;
  std::string_view text_;
  uint32_t at_ = 0;
  uint32_t last_end_ = kNone;
  int64_t steps_left_ = 0;
  int64_t work_ = 0;  // steps_left_ at the beginning
  std::vector<Choice> choices_;
  bool table_always_ = false;
  bool has_table_ = false;
  uint32_t table_from_ = 0;
  std::vector<uint32_t> ends_;  // [text - table_from_] where the match that begins there ends
  std::vector<uint32_t> rows_[kRows];  // [steps] of the position: where a match from the step ends
};

}  // namespace tenon
