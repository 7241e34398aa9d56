// Forecasts of cache memory: blocks per group, bytes, and the least sufficient budget.
// cache_table.h has the tables themselves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/block_pool.h"

namespace tenon {

/// Pool options for the cache groups of a program [groups]. States count positions in blocks of the
/// other groups.
///   block_bytes   [groups] from the device
///   block_tokens  for states, if no group has positions
std::vector<BlockPoolOptions> block_pool_options(std::span<const tenon_cache_group> groups,
                                                 std::span<const uint64_t> block_bytes,
                                                 uint32_t block_tokens);

/// Growth of texts.
struct TextSizes {
  uint64_t positions = 0;  ///< positions of each full text
  uint64_t slice = 1;      ///< most positions of a text per step
  uint64_t texts = 1;
};

/// Most blocks in one text's table at a time. A window holds its visible blocks, a slice and up to
/// two blocks more; a state holds the latest, the one before it and the checkpoints.
uint64_t most_held_blocks(const BlockPoolOptions& group, const TextSizes& sizes);

/// Bytes of the blocks of all texts in all groups; UINT64_MAX on overflow.
uint64_t cache_bytes(std::span<const BlockPoolOptions> groups, const TextSizes& sizes);

/// The least budget of make_block_pools that has room for these blocks in whole slabs, so that no
/// text is evicted. UINT64_MAX on overflow.
uint64_t least_cache_budget(std::span<const BlockPoolOptions> groups, const TextSizes& sizes,
                            uint64_t device_slab_bytes);

/// The cache of one device.
struct DeviceCache {
  std::vector<BlockPoolOptions> groups;
  uint64_t slab_bytes = 0;            ///< slab size that the device prefers
  uint64_t limit_bytes = UINT64_MAX;  ///< capacity of the device
};

/// Splits the budget so that every device [devices] holds the same number of positions: as many
/// texts of `sizes` as fit on all, or one shorter text. The rest is shared equally. A part never
/// exceeds the device's limit.
///   budget_bytes  UINT64_MAX means no budget: every device gets its limit
std::vector<uint64_t> split_cache_budget(std::span<const DeviceCache> devices,
                                         const TextSizes& sizes, uint64_t budget_bytes);

/// Cache bytes to process for a token after `past` others: rows that attention reads, and states,
/// which are read and written.
double seen_cache_bytes(std::span<const BlockPoolOptions> groups, uint64_t past);

}  // namespace tenon
