// What the cache of texts will take before there is any: blocks of each group, bytes, and the least
// budget that has room for all. The tables that hold the blocks are in cache_table.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/block_pool.h"

namespace tenon {

/// What pools are told of the cache groups of a program [groups]. States count positions in blocks
/// as the other groups do.
///   block_bytes   [groups] of the device
///   block_tokens  of states where no group has positions
std::vector<BlockPoolOptions> block_pool_options(std::span<const tenon_cache_group> groups,
                                                 std::span<const uint64_t> block_bytes,
                                                 uint32_t block_tokens);

/// How texts grow.
struct TextSizes {
  uint64_t positions = 0;  ///< of each text when it is full
  uint64_t slice = 1;      ///< positions that a step computes of a text at most
  uint64_t texts = 1;
};

/// Blocks that the table of one text holds at most at one time: of a window what it sees, a slice
/// and up to two blocks more, of a state the latest, the one before it and checkpoints.
uint64_t most_held_blocks(const BlockPoolOptions& group, const TextSizes& sizes);

/// Bytes of the blocks of all texts in all groups; UINT64_MAX: more than 64 bits count.
uint64_t cache_bytes(std::span<const BlockPoolOptions> groups, const TextSizes& sizes);

/// The least budget of make_block_pools that has room for these blocks in whole slabs, so that no
/// text has to give anything up. UINT64_MAX: more than 64 bits count.
uint64_t least_cache_budget(std::span<const BlockPoolOptions> groups, const TextSizes& sizes,
                            uint64_t device_slab_bytes);

/// The cache of one device.
struct DeviceCache {
  std::vector<BlockPoolOptions> groups;
  uint64_t slab_bytes = 0;            ///< the device's wish
  uint64_t limit_bytes = UINT64_MAX;  ///< what it has room for
};

/// Of one budget the part of each device [devices], so that as many positions have room on one as on
/// another: of as many texts of `sizes` as all have room for, or of one shorter text. What is left over
/// is dealt out alike. A part is at most the device's limit.
///   budget_bytes  UINT64_MAX: none, each has its limit
std::vector<uint64_t> split_cache_budget(std::span<const DeviceCache> devices,
                                         const TextSizes& sizes, uint64_t budget_bytes);

/// Bytes of the cache that a token after `past` others takes to compute: what attention reads, and
/// states, which are read and written.
double seen_cache_bytes(std::span<const BlockPoolOptions> groups, uint64_t past);

}  // namespace tenon
