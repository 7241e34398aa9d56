// Streaming top-k selection in memory for 2 k candidates.
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

/// Keeps the better half whenever its memory is full; from then on rejects candidates that do not
/// beat the worst of that half.
class BestCandidates {
 public:
  /// found  [2 count]
  BestCandidates(Candidate* found, uint32_t count) noexcept
      : found_(found), chosen_(found + count), room_(chosen_ + count), end_(found) {}

  /// Adds a candidate. Numbers must ascend; NaN counts as -infinity.
  void add(float score, uint32_t number) noexcept {
    if (std::isnan(score)) score = -std::numeric_limits<float>::infinity();
    if (full_ && score <= worst_) return;  // ties keep the lower number
    *end_++ = {score, number};
    if (end_ == room_) keep_best();
  }

  /// Writes the best numbers in ascending order, then -1, to row [count].
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
  Candidate* const chosen_;  // end of the best half
  Candidate* const room_;    // end of the memory
  Candidate* end_;           // end of the candidates
  bool full_ = false;
  float worst_ = 0.0f;
};

}  // namespace tenon::cpu
