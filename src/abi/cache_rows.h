// Locates the rows of a cache group in its blocks: one row per position, or per m positions in a
// group of stride m (tenon_cache_group).
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/backend.h"

namespace tenon::backends {

/// Distance between rows, in positions.
constexpr uint32_t row_stride(const tenon_cache_group& group) noexcept {
  return group.kind == TENON_CACHE_LATENT ? std::max(1u, group.stride) : 1;
}

/// Most rows in a block; every block has room for them.
constexpr uint32_t rows_of_block(const tenon_cache_group& group) noexcept {
  const uint32_t stride = row_stride(group);
  return group.block_tokens / stride + (group.block_tokens % stride != 0 ? 1 : 0);
}

/// True if a row ends at the position.
constexpr bool has_row(const tenon_cache_group& group, uint32_t position) noexcept {
  return position % row_stride(group) == row_stride(group) - 1;
}

/// Rows that end before position `end`.
constexpr uint32_t num_rows_before(const tenon_cache_group& group, uint32_t end) noexcept {
  return end / row_stride(group);
}

/// Last position of row `number`.
constexpr uint32_t position_of_row(const tenon_cache_group& group, uint32_t number) noexcept {
  return number * row_stride(group) + row_stride(group) - 1;
}

/// Location of a row in a sequence's blocks.
struct CacheRow {
  uint32_t block;
  uint32_t slot;  ///< below rows_of_block
};

/// Example: with stride 4 and blocks of 6 positions, rows 0, 1, 2 (positions 3, 7, 11) are slot 0
/// of block 0 and slots 0 and 1 of block 1.
constexpr CacheRow cache_row_of(const tenon_cache_group& group, uint32_t position) noexcept {
  const uint32_t block = position / group.block_tokens;
  const uint32_t before = num_rows_before(group, block * group.block_tokens);
  return {block, position / row_stride(group) - before};
}

}  // namespace tenon::backends
