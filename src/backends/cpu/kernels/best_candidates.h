// The best of many scored numbers, found as they come, in memory for twice as many as are wanted.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tenon::cpu {

struct Candidate {
  float score;
  uint32_t number;
};

/// Of up to twice as many candidates as are wanted, the better half stays whenever there is no room,
/// and what is no better than its worst is no candidate from then on.
class BestCandidates {
 public:
  /// found  [2 count]
  BestCandidates(Candidate* found, uint32_t count) noexcept
      : found_(found), chosen_(found + count), room_(chosen_ + count), end_(found) {}

  /// Numbers come in ascending order; a score that is NaN counts as -infinity.
  void add(float score, uint32_t number) noexcept {
    if (std::isnan(score)) score = -std::numeric_limits<float>::infinity();
    if (full_ && score <= worst_) return;  // of equal ones the lower number is there already
    *end_++ = {score, number};
    if (end_ == room_) keep_best();
  }

  /// The numbers of the best in ascending order, then -1: row [count].
  void write(int32_t* row) noexcept {
    if (end_ > chosen_) keep_best();
    std::sort(found_, end_,
              [](const Candidate& a, const Candidate& b) { return a.number < b.number; });
    Candidate* next = found_;
    for (Candidate* at = found_; at < chosen_; ++at, ++row) {
      *row = next < end_ ? static_cast<int32_t>((next++)->number) : -1;
    }
  }

 private:
  void keep_best() noexcept {
    std::nth_element(found_, chosen_ - 1, end_, [](const Candidate& a, const Candidate& b) {
      return a.score > b.score || (a.score == b.score && a.number < b.number);
    });
    end_ = chosen_;
    worst_ = chosen_[-1].score;
    full_ = true;
  }

  Candidate* const found_;
  Candidate* const chosen_;  // where the best end
  Candidate* const room_;    // where the memory ends
  Candidate* end_;           // of the candidates
  bool full_ = false;
  float worst_ = 0.0f;
};

}  // namespace tenon::cpu
