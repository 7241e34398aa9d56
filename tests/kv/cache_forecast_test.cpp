// Cache forecasts: growing tables stay within them, and pools work with the least budget.
#include "kv/cache_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "kv/block_table.h"
#include "kv/state_table.h"
#include "tests/kv/fake_slabs.h"

namespace tenon {
namespace {

BlockPoolOptions group_of(uint32_t kind, uint64_t block_bytes = 64, uint32_t window = 0) {
  BlockPoolOptions group;
  group.block_bytes = block_bytes;
  group.block_tokens = 4;
  group.kind = kind;
  group.window = window;
  group.state_checkpoint_tokens = 8;
  return group;
}

/// Most blocks of a table while it grows to `positions` in slices.
uint64_t most_seen(const BlockPoolOptions& group, const TextSizes& sizes) {
  FakeSlabs memory;
  const auto pool = make_pool(memory, group, {.slab_bytes = group.block_bytes});
  const auto table = CacheTable::create(pool, sizes.positions);
  uint64_t most = 0;
  for (uint64_t past = 0; past < sizes.positions;) {
    // Visit texts of all lengths, so that the number of checkpoints reaches its maximum.
    const uint64_t stop = std::min(table->next_stop(past, past + 5), past + sizes.slice);
    const uint64_t end = std::min(stop, sizes.positions);
    table->trim(past);
    table->prepare(past, end - past);
    most = std::max(most, pool->num_used());
    table->commit(end, end == table->next_stop(past, past + 5));
    most = std::max(most, pool->num_used());
    past = end;
  }
  return most;
}

TEST(CacheForecast, IsWhatTablesOfEveryKindHold) {
  for (const uint64_t slice : {1u, 3u, 4u, 7u, 16u}) {
    for (uint64_t positions = 1; positions < 90; ++positions) {
      const TextSizes sizes{positions, slice, 1};
      SCOPED_TRACE(testing::Message() << positions << " in slices of " << slice);
      for (const uint32_t kind : {TENON_CACHE_FULL, TENON_CACHE_LATENT}) {
        const BlockPoolOptions group = group_of(kind);
        EXPECT_EQ(most_held_blocks(group, sizes), most_seen(group, sizes));
      }
      for (const uint32_t window : {1u, 3u, 8u, 13u}) {
        const BlockPoolOptions group = group_of(TENON_CACHE_WINDOW, 64, window);
        const uint64_t said = most_held_blocks(group, sizes);
        const uint64_t seen = most_seen(group, sizes);
        EXPECT_GE(said, seen) << window;
        EXPECT_LE(said, seen + 2) << window;  // depends on the ends of slices
      }
      const BlockPoolOptions state = group_of(TENON_CACHE_STATE);
      const uint64_t said = most_held_blocks(state, sizes);
      const uint64_t seen = most_seen(state, sizes);
      EXPECT_GE(said, seen);
      EXPECT_LE(said, seen + 2);  // a checkpoint may be the latest state
      EXPECT_LE(said, 6u);
    }
  }
  EXPECT_EQ(most_held_blocks(group_of(TENON_CACHE_STATE), {1000, 4, 1}),
            most_seen(group_of(TENON_CACHE_STATE), {1000, 3, 1}));
}

TEST(CacheForecast, OfNothingIsNothing) {
  for (const uint32_t kind : {TENON_CACHE_FULL, TENON_CACHE_WINDOW, TENON_CACHE_STATE}) {
    const std::vector<BlockPoolOptions> groups = {group_of(kind, 64, kind == TENON_CACHE_WINDOW)};
    EXPECT_EQ(cache_bytes(groups, {0, 16, 1}), 0u);
    EXPECT_EQ(least_cache_budget(groups, {0, 16, 1}, 1 << 20), 0u);
  }
  EXPECT_EQ(least_cache_budget({}, {100, 16, 1}, 1 << 20), 0u);
}

TEST(CacheForecast, SaysWhatPasses64Bits) {
  const std::vector<BlockPoolOptions> groups = {group_of(TENON_CACHE_FULL, uint64_t{1} << 40)};
  EXPECT_EQ(cache_bytes(groups, {1u << 30, 16, 1u << 20}), UINT64_MAX);
  EXPECT_EQ(least_cache_budget(groups, {1u << 30, 16, 1u << 20}, 1 << 20), UINT64_MAX);
}

TEST(CacheForecast, LeastBudgetHasRoomInWholeSlabs) {
  FakeSlabs memory;
  for (const uint64_t device_bytes : {0u, 1000u, 1u << 20}) {
    for (uint64_t positions = 1; positions < 4000; positions = positions * 3 / 2 + 1) {
      for (const uint64_t texts : {1u, 5u, 100u}) {
        const TextSizes sizes{positions, 16, texts};
        const std::vector<BlockPoolOptions> groups = {group_of(TENON_CACHE_FULL, 100),
                                                      group_of(TENON_CACHE_WINDOW, 300, 30),
                                                      group_of(TENON_CACHE_STATE, 640)};
        const uint64_t budget = least_cache_budget(groups, sizes, device_bytes);
        ASSERT_GE(budget, cache_bytes(groups, sizes));
        const auto pools = make_block_pools(memory, groups, device_bytes, budget);
        std::vector<uint64_t> needed;
        for (const BlockPoolOptions& group : groups) {
          needed.push_back(texts * most_held_blocks(group, sizes));
        }
        ASSERT_TRUE(have_room(pools, needed)) << positions << " x " << texts;
      }
    }
  }
  // A single group leaves less than a slab over: 129 blocks are 10 slabs of 13.
  const std::vector<BlockPoolOptions> alone = {group_of(TENON_CACHE_FULL, 100)};
  EXPECT_EQ(least_cache_budget(alone, {4 * 129, 16, 1}, 1 << 20), 13000u);
}

TEST(CacheForecast, TokensSeeWindowsAndBothSidesOfStates) {
  const std::vector<BlockPoolOptions> groups = {group_of(TENON_CACHE_FULL, 100),
                                                group_of(TENON_CACHE_WINDOW, 300, 30),
                                                group_of(TENON_CACHE_STATE, 640)};
  EXPECT_DOUBLE_EQ(seen_cache_bytes(groups, 0), 2 * 640.0);
  EXPECT_DOUBLE_EQ(seen_cache_bytes(groups, 20), 20 * 25.0 + 20 * 75.0 + 2 * 640.0);
  EXPECT_DOUBLE_EQ(seen_cache_bytes(groups, 1000), 1000 * 25.0 + 30 * 75.0 + 2 * 640.0);
}

}  // namespace
}  // namespace tenon
