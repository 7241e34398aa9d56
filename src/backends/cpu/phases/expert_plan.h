// Groups the rows of a step by expert (a counting sort), so that each expert of a mixture is one
// matrix product. Rows 0 and 1 that chose experts {2, 5} and {5, 0} become 0: [1], 2: [0], 5: [0,
// 1]. Says in which order results come to be, never what they are.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/phases/carver.h"

namespace tenon::cpu {

/// The pairs of one expert.
struct ExpertRows {
  uint32_t expert;
  uint32_t first;     ///< among the sorted pairs
  uint32_t place;     ///< of its first pair among gathered rows, a multiple of kRowInterleave
  uint32_t num_rows;  ///< at least 1
};

/// Of as many doubles as there are experts: what choosing by scores takes.
inline constexpr uint64_t kScoreArrays = 5;

/// Pairs (row, one of its `used` experts), number row * used + place among them. Memory is the
/// owner's and holds what a step chose until the slot of the route may be written again.
class ExpertPlan {
 public:
  ExpertPlan(uint32_t experts, uint32_t used, uint64_t max_rows)
      : experts_(experts), used_(used), max_rows_(max_rows) {}

  void carve(Carver& carver);
  /// Gathered rows that steps of max_rows rows take.
  [[nodiscard]] uint64_t max_places() const;

  /// Before a step: no row has chosen yet.
  void clear() noexcept { num_active_ = num_pairs_ = num_finished_ = 0; }
  /// Counts a row whose experts are known; true for the last one of `num_rows`.
  [[nodiscard]] bool finish_row(uint64_t num_rows) noexcept;
  /// ids [num_rows, used], as moe_route gives them. Of an expert's pairs, those of earlier rows
  /// come first.
  void sort(const int32_t* ids, uint64_t num_rows) noexcept;

  [[nodiscard]] uint32_t used() const { return used_; }
  [[nodiscard]] uint32_t num_pairs() const { return num_pairs_; }
  [[nodiscard]] uint32_t num_active() const { return num_active_; }
  /// The experts that were chosen at all, by number.
  [[nodiscard]] const ExpertRows& active(uint32_t index) const { return active_[index]; }
  /// The number of the sorted pair `index`, and whose it is.
  [[nodiscard]] uint32_t pair(uint32_t index) const { return pairs_[index]; }
  [[nodiscard]] const ExpertRows& expert_of(uint32_t index) const noexcept;

 private:
  [[nodiscard]] uint64_t max_pairs() const { return max_rows_ * used_; }
  [[nodiscard]] uint64_t max_active() const {
    return max_pairs() < experts_ ? max_pairs() : experts_;
  }

  uint32_t experts_;
  uint32_t used_;
  uint64_t max_rows_;
  uint32_t num_active_ = 0;
  uint32_t num_pairs_ = 0;
  uint32_t num_finished_ = 0;
  uint32_t* next_ = nullptr;      // [experts] where the next pair of an expert goes
  uint32_t* pairs_ = nullptr;     // [max_pairs]
  ExpertRows* active_ = nullptr;  // [max_active]
};

/// Rows of a view from `place` on, a multiple of kRowInterleave, as a step of num_rows rows.
QuantRows rows_from(const QuantRows& rows, uint64_t place, uint64_t num_rows) noexcept;

/// The columns of a view from `column` on, a multiple of kActivationBlock.
QuantRows columns_from(const QuantRows& rows, uint64_t column) noexcept;

}  // namespace tenon::cpu
