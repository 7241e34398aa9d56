// Where the rows of a cache group lie in its blocks: one for each position or, in a group with a
// stride m, one for every m positions (tenon_cache_group).
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/backend.h"

namespace tenon::backends {

/// Positions from one row to the next.
constexpr uint32_t row_stride(const tenon_cache_group& group) noexcept {
  return group.kind == TENON_CACHE_LATENT ? std::max(1u, group.stride) : 1;
}

/// The most rows that a block holds: it has room for as many.
constexpr uint32_t rows_of_block(const tenon_cache_group& group) noexcept {
  const uint32_t stride = row_stride(group);
  return group.block_tokens / stride + (group.block_tokens % stride != 0 ? 1 : 0);
}

/// Whether a position has a row: it is the last of those that the row stands for.
constexpr bool has_row(const tenon_cache_group& group, uint32_t position) noexcept {
  return position % row_stride(group) == row_stride(group) - 1;
}

/// Rows of the positions before `end`.
constexpr uint32_t num_rows_before(const tenon_cache_group& group, uint32_t end) noexcept {
  return end / row_stride(group);
}

/// The last of the positions that row `number` stands for.
constexpr uint32_t position_of_row(const tenon_cache_group& group, uint32_t number) noexcept {
  return number * row_stride(group) + row_stride(group) - 1;
}

/// A row in the blocks of a sequence.
struct CacheRow {
  uint32_t block;
  uint32_t slot;  ///< below rows_of_block
};

/// With stride 4 and blocks of 6 positions, rows 0, 1, 2 (of the positions 3, 7, 11) are slot 0 of
/// block 0 and slots 0 and 1 of block 1.
constexpr CacheRow cache_row_of(const tenon_cache_group& group, uint32_t position) noexcept {
  const uint32_t block = position / group.block_tokens;
  const uint32_t before = num_rows_before(group, block * group.block_tokens);
  return {block, position / row_stride(group) - before};
}

}  // namespace tenon::backends
