// Groups the rows of a step by expert (a counting sort), so that each expert of a mixture is one
// matrix product. Example: rows 0 and 1 with experts {2, 5} and {5, 0} become 0: [1], 2: [0], 5:
// [0, 1]. Decides the order of results; never changes them.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/phases/carver.h"

namespace tenon::cpu {

/// Pairs of an expert.
struct ExpertRows {
  uint32_t expert;
  uint32_t first;     ///< index of its first sorted pair
  uint32_t place;     ///< its first gathered row, a multiple of kRowInterleave
  uint32_t num_rows;  ///< at least 1
};

/// Arrays of a double per expert that choosing by scores needs.
inline constexpr uint64_t kScoreArrays = 5;

/// Pairs of a row and one of its `used` experts, numbered row * used + place. The owner provides
/// the memory, which keeps a step's choice until the route's slot may be overwritten.
class ExpertPlan {
 public:
  ExpertPlan(uint32_t experts, uint32_t used, uint64_t max_rows)
      : experts_(experts), used_(used), max_rows_(max_rows) {}

  void carve(Carver& carver);
  /// Gathered rows for steps of max_rows rows.
  [[nodiscard]] uint64_t max_places() const;

  /// Starts a step: no row has chosen yet.
  void clear() noexcept { num_active_ = num_pairs_ = num_finished_ = 0; }
  /// Counts a row whose experts are known; returns true for the last of `num_rows`.
  [[nodiscard]] bool finish_row(uint64_t num_rows) noexcept;
  /// Sorts ids [num_rows, used] from moe_route. An expert's pairs stay in row order.
  void sort(const int32_t* ids, uint64_t num_rows) noexcept;

  [[nodiscard]] uint32_t used() const { return used_; }
  [[nodiscard]] uint32_t num_pairs() const { return num_pairs_; }
  [[nodiscard]] uint32_t num_active() const { return num_active_; }
  /// Chosen experts, by number.
  [[nodiscard]] const ExpertRows& active(uint32_t index) const { return active_[index]; }
  /// Number of sorted pair `index`.
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
  uint32_t* next_ = nullptr;      // [experts] position of an expert's next pair
  uint32_t* pairs_ = nullptr;     // [max_pairs]
  ExpertRows* active_ = nullptr;  // [max_active]
};

/// Rows of a view from `place` on (a multiple of kRowInterleave), as a step of num_rows rows.
QuantRows rows_from(const QuantRows& rows, uint64_t place, uint64_t num_rows) noexcept;

/// Columns of a view from `column` on, a multiple of kActivationBlock.
QuantRows columns_from(const QuantRows& rows, uint64_t column) noexcept;

}  // namespace tenon::cpu
