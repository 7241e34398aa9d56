// Positions that a row of a selection names for a token.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tenon/backend.h"

namespace tenon::backends {

/// Number of parts of an attention's selection, at least 1.
inline uint32_t selection_parts(const tenon_attention_params& params) noexcept {
  return std::max(1u, params.selections);
}

/// Positions per number of an attention's selection.
inline uint32_t selected_block(const tenon_attention_params& params) noexcept {
  return std::max(1u, params.selected_block);
}

/// Most positions that a selection with parts of `columns` names for a token.
inline uint64_t most_selected(const tenon_attention_params& params, uint64_t columns) noexcept {
  return columns * selected_block(params) +
         (params.selected_rest != 0 ? selected_block(params) - 1 : 0);
}

/// Positions, ascending, named by one part of a row.
template <typename Number>
class SelectedPositions {
 public:
  /// numbers [columns] ascend and end with -1; none is beyond the token's position `own`.
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
      // Only the last number can be the token's own block, which ends at the token.
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
  uint32_t rest_ = 0;   // first position that no number can name
  uint32_t named_ = 0;  // positions
  uint32_t count_ = 0;
};

}  // namespace tenon::backends
