// Which positions a row of a selection names for a token.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tenon/backend.h"

namespace tenon::backends {

/// Parts of the selection of an attention.
inline uint32_t selection_parts(const tenon_attention_params& params) noexcept {
  return std::max(1u, params.selections);
}

/// Positions that a number of the selection of an attention stands for.
inline uint32_t selected_block(const tenon_attention_params& params) noexcept {
  return std::max(1u, params.selected_block);
}

/// The most positions that a selection with parts of `columns` names for a token.
inline uint64_t most_selected(const tenon_attention_params& params, uint64_t columns) noexcept {
  return columns * selected_block(params) +
         (params.selected_rest != 0 ? selected_block(params) - 1 : 0);
}

/// Positions in ascending order, by the numbers of one part of a row.
template <typename Number>
class SelectedPositions {
 public:
  /// numbers [columns], ascending, then -1; the token stands at `own`, and no number is beyond it.
  SelectedPositions(const Number* numbers, size_t columns, const tenon_attention_params& params,
                    uint32_t own) noexcept
      : numbers_(numbers), block_(selected_block(params)) {
    const uint32_t rest = params.selected_rest != 0 ? (own + 1) % block_ : 0;
    rest_ = own + 1 - rest;
    size_t count = 0;
    while (count < columns && numbers[count] >= 0 &&
           static_cast<uint64_t>(numbers[count]) * block_ < rest_) {
      ++count;
    }
    if (count > 0) {
      // Only the last one can be the token's own block, which ends with it.
      const uint32_t first = static_cast<uint32_t>(numbers[count - 1]) * block_;
      named_ = static_cast<uint32_t>(count - 1) * block_ + std::min(block_, rest_ - first);
    }
    count_ = named_ + rest;
  }

  [[nodiscard]] uint32_t size() const noexcept { return count_; }
  [[nodiscard]] uint32_t operator[](uint32_t i) const noexcept {
    if (i >= named_) return rest_ + i - named_;
    return static_cast<uint32_t>(numbers_[i / block_]) * block_ + i % block_;
  }

 private:
  const Number* numbers_;
  uint32_t block_;
  uint32_t rest_ = 0;   // the first position after those that numbers can name
  uint32_t named_ = 0;  // positions
  uint32_t count_ = 0;
};

}  // namespace tenon::backends
