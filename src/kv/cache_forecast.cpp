#include "kv/cache_forecast.h"

#include <algorithm>

#include "base/saturating.h"
#include "kv/block_table.h"
#include "kv/state_table.h"

namespace tenon {
namespace {

/// Slabs of a size that hold the blocks of all texts.
uint64_t slabs_for(std::span<const BlockPoolOptions> groups, const TextSizes& sizes,
                   uint64_t slab_bytes) {
  uint64_t slabs = 0;
  for (const BlockPoolOptions& group : groups) {
    const uint64_t blocks = saturating_mul(sizes.texts, most_held_blocks(group, sizes));
    const uint64_t in_slab = slab_bytes / group.block_bytes;
    slabs = saturating_add(slabs, blocks / in_slab + (blocks % in_slab != 0 ? 1 : 0));
  }
  return slabs;
}

}  // namespace

std::vector<BlockPoolOptions> block_pool_options(std::span<const tenon_cache_group> groups,
                                                 std::span<const uint64_t> block_bytes,
                                                 uint32_t block_tokens) {
  uint32_t most_tokens = 0;
  for (const tenon_cache_group& group : groups) {
    most_tokens = std::max(most_tokens, group.block_tokens);
  }
  if (most_tokens == 0) most_tokens = block_tokens;
  std::vector<BlockPoolOptions> pools;
  for (size_t i = 0; i < groups.size(); ++i) {
    BlockPoolOptions pool;
    pool.block_bytes = block_bytes[i];
    pool.block_tokens = groups[i].kind == TENON_CACHE_STATE ? most_tokens : groups[i].block_tokens;
    pool.kind = groups[i].kind;
    pool.window = groups[i].window;
    if (groups[i].kind == TENON_CACHE_WINDOW) pool.stride = groups[i].stride;
    pools.push_back(pool);
  }
  return pools;
}

uint64_t most_held_blocks(const BlockPoolOptions& group, const TextSizes& sizes) {
  const uint64_t slice = std::min(sizes.slice, sizes.positions);
  return group.kind == TENON_CACHE_STATE ? StateTable::most_held(group, sizes.positions)
                                         : BlockTable::most_held(group, sizes.positions, slice);
}

uint64_t cache_bytes(std::span<const BlockPoolOptions> groups, const TextSizes& sizes) {
  uint64_t bytes = 0;
  for (const BlockPoolOptions& group : groups) {
    const uint64_t blocks = saturating_mul(sizes.texts, most_held_blocks(group, sizes));
    bytes = saturating_add(bytes, saturating_mul(blocks, group.block_bytes));
  }
  return bytes;
}

// The size of slabs follows from the budget. Every size that a budget may lead to is tried: the
// budget that has room in slabs of this size counts if the slabs it leads to have room, too.
uint64_t least_cache_budget(std::span<const BlockPoolOptions> groups, const TextSizes& sizes,
                            uint64_t device_slab_bytes) {
  std::vector<uint64_t> block_bytes;
  for (const BlockPoolOptions& group : groups) block_bytes.push_back(group.block_bytes);
  if (block_bytes.empty()) return 0;
  const auto needed_with = [&](uint64_t slab_bytes) {
    return saturating_mul(slabs_for(groups, sizes, slab_bytes), slab_bytes);
  };
  const auto needed_of = [&](uint64_t budget) {
    return needed_with(choose_slab_bytes(block_bytes, device_slab_bytes, budget));
  };
  const uint64_t largest = std::ranges::max(block_bytes);
  uint64_t best = needed_with(largest);
  while (needed_of(best) > best) best = needed_of(best);
  const uint64_t largest_slab = std::max(largest, std::min(device_slab_bytes, best / kLeastSlabs));
  for (uint64_t slab = largest; slab <= largest_slab && slab / largest <= kMostSlabBlocks;
       slab += largest) {
    const uint64_t budget = needed_with(slab);
    if (budget < best && needed_of(budget) <= budget) best = budget;
  }
  return best;
}

double seen_cache_bytes(std::span<const BlockPoolOptions> groups, uint64_t past) {
  double bytes = 0;
  for (const BlockPoolOptions& group : groups) {
    if (group.kind == TENON_CACHE_STATE) continue;
    const uint64_t seen = group.window == 0 ? past : std::min<uint64_t>(past, group.window);
    bytes +=
        static_cast<double>(group.block_bytes) / group.block_tokens * static_cast<double>(seen);
  }
  return bytes;
}

}  // namespace tenon
