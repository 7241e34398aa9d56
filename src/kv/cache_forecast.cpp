#include "kv/cache_forecast.h"

#include <algorithm>

#include "base/saturating.h"
#include "kv/block_table.h"
#include "kv/state_table.h"

namespace tenon {
namespace {

/// Slabs of size `slab_bytes` for the blocks of all texts.
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

// The slab size depends on the budget, so try every size. A budget counts if the slab size chosen
// for it also has room.
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

namespace {

/// Bytes needed per device; UINT64_MAX for all if the sum exceeds the budget.
std::vector<uint64_t> needs_within(std::span<const DeviceCache> devices, const TextSizes& sizes,
                                   uint64_t budget_bytes) {
  std::vector<uint64_t> needs;
  uint64_t sum = 0;
  for (const DeviceCache& device : devices) {
    needs.push_back(least_cache_budget(device.groups, sizes, device.slab_bytes));
    sum = saturating_add(sum, needs.back());
  }
  if (sum > budget_bytes || sum == UINT64_MAX) needs.clear();
  return needs;
}

/// Bytes needed per device for the largest n in [1, most] within the budget; empty if none fits.
template <typename SizesOf>
std::vector<uint64_t> largest_needs(std::span<const DeviceCache> devices, uint64_t most,
                                    uint64_t budget_bytes, SizesOf sizes_of) {
  std::vector<uint64_t> best;
  for (uint64_t low = 1, high = most; low <= high;) {
    const uint64_t middle = low + (high - low) / 2;
    std::vector<uint64_t> needs = needs_within(devices, sizes_of(middle), budget_bytes);
    if (needs.empty()) {
      high = middle - 1;
    } else {
      best = std::move(needs);
      low = middle + 1;
    }
  }
  return best;
}

}  // namespace

std::vector<uint64_t> split_cache_budget(std::span<const DeviceCache> devices,
                                         const TextSizes& sizes, uint64_t budget_bytes) {
  constexpr uint64_t kMostTexts = uint64_t{1} << 20;
  std::vector<uint64_t> parts;
  if (devices.size() == 1 || budget_bytes == UINT64_MAX) {
    parts.assign(devices.size(), budget_bytes);
  } else {
    parts = largest_needs(devices, kMostTexts, budget_bytes, [&](uint64_t texts) {
      return TextSizes{sizes.positions, sizes.slice, texts};
    });
    if (parts.empty()) {
      parts = largest_needs(devices, sizes.positions, budget_bytes, [&](uint64_t positions) {
        return TextSizes{positions, sizes.slice, 1};
      });
    }
    // If not even one position fits, split by the needs of one position.
    const bool none = parts.empty();
    if (none) parts = needs_within(devices, {1, 1, 1}, UINT64_MAX - 1);
    uint64_t sum = 0;
    for (const uint64_t part : parts) sum += part;
    const uint64_t left = none ? budget_bytes : budget_bytes - sum;
    for (uint64_t& part : parts) {
      const double share =
          static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(sum, 1));
      const auto more = static_cast<uint64_t>(share * static_cast<double>(left));
      part = none ? more : part + more;
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = std::min(parts[i], devices[i].limit_bytes);
  return parts;
}

double seen_cache_bytes(std::span<const BlockPoolOptions> groups, uint64_t past) {
  double bytes = 0;
  for (const BlockPoolOptions& group : groups) {
    if (group.kind == TENON_CACHE_STATE) {
      bytes += 2 * static_cast<double>(group.block_bytes);
      continue;
    }
    const uint64_t seen = group.window == 0 ? past : std::min<uint64_t>(past, group.window);
    bytes +=
        static_cast<double>(group.block_bytes) / group.block_tokens * static_cast<double>(seen);
  }
  return bytes;
}

}  // namespace tenon
