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

/// Positions in ascending order, by the numbers of one part of a row.
template <typename Number>
class SelectedPositions {
 public:
  /// numbers [columns], ascending, then -1; the token stands at `own`, and no number is beyond it.
  SelectedPositions(const Number* numbers, size_t columns, uint32_t block, uint32_t own) noexcept
      : numbers_(numbers), block_(block) {
    size_t count = 0;
    const auto last = static_cast<Number>(own / block);
    while (count < columns && numbers[count] >= 0 && numbers[count] <= last) ++count;
    if (count == 0) return;
    // Only the last one can be the token's own block, which ends with it.
    const uint32_t first = static_cast<uint32_t>(numbers[count - 1]) * block;
    count_ = static_cast<uint32_t>(count - 1) * block + std::min(block, own + 1 - first);
  }

  [[nodiscard]] uint32_t size() const noexcept { return count_; }
  [[nodiscard]] uint32_t operator[](uint32_t i) const noexcept {
    return static_cast<uint32_t>(numbers_[i / block_]) * block_ + i % block_;
  }

 private:
  const Number* numbers_;
  uint32_t block_;
  uint32_t count_ = 0;
};

}  // namespace tenon::backends
