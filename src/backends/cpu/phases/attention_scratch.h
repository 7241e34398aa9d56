// Computes the scratch sizes of attention kernels and of rows gathered for them.
#pragma once

#include <algorithm>

#include "backends/cpu/layouts/cache_block.h"
#include "backends/cpu/operation.h"

namespace tenon::cpu {

/// Adds room for `positions` contiguous rows.
inline void count_areas(const CacheBlock& block, uint64_t positions, ScratchSizes& sizes) {
  const uint64_t areas = (positions + block.block_tokens - 1) / block.block_tokens;
  sizes.areas = std::max(sizes.areas, areas);
  sizes.area_bytes = std::max(sizes.area_bytes, areas * block.area_bytes());
}

inline void count_attention(uint64_t columns, const CacheBlock& block, ScratchSizes& sizes) {
  sizes.attention = std::max<uint64_t>(sizes.attention, attention_scratch_floats(columns, block));
}

}  // namespace tenon::cpu
