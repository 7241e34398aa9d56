// Finds successive matches of a pattern in a text, with the results of a backtracking engine and in
// linear time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/regex/pattern.h"

namespace tenon {

/// A match: bytes [begin, end) of the text.
struct PatternMatch {
  size_t begin = 0;
  size_t end = 0;
};

/// Searches one text at a time; reuses memory between texts. The pattern and the text must outlive
/// it.
/// Matches among ASCII characters come from the pattern's states, if it has some. Other matches
/// come from backtracking, which is fast for patterns in normal use. Once this has taken a fixed
/// number of steps per byte of the text, a table over the rest replaces it: for each position, from
/// the end, the match that begins there. The worst case is the pattern's steps times bytes.
class PatternSearch {
 public:
  explicit PatternSearch(const Pattern& pattern) : pattern_(&pattern) {}

  /// Starts a search at the beginning of `text`, well-formed UTF-8 below 4 GiB. Look-around and
  /// anchors see only this text.
  void begin(std::string_view text);

  /// Finds the next match; false at the end. Empty matches count, except directly after another
  /// match.
  bool next(PatternMatch& match);

  /// Steps taken in the current text, a measure of work; steps of the table do not count.
  [[nodiscard]] int64_t work() const { return work_ - steps_left_; }

  /// For tests: use the table from the start.
  void always_use_table(bool value) { table_always_ = value; }

 private:
  /// Alternative if the current way fails: step `step` at byte `at`, then (for a run that can give
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
  int64_t work_ = 0;  // initial steps_left_
  std::vector<Choice> choices_;
  bool table_always_ = false;
  bool has_table_ = false;
  uint32_t table_from_ = 0;
  std::vector<uint32_t> ends_;         // [text - table_from_] end of the match that begins there
  std::vector<uint32_t> rows_[kRows];  // [steps] per position: end of the match from the step
};

}  // namespace tenon
