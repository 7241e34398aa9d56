// Block pools: budget, slabs on demand, device failures.
#include "kv/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/kv/fake_slabs.h"

namespace tenon {
namespace {

using testing::HasSubstr;

TEST(BlockPool, BorrowsNothingBeforeItIsAsked) {
  FakeSlabs slabs;
  const auto pool = make_pool(slabs, {.block_bytes = 100});
  EXPECT_EQ(slabs.num_created, 0u);
  EXPECT_EQ(pool->size_bytes(), 0u);
}

TEST(BlockPool, BorrowsSlabsOnDemandAndGivesThemBackEmpty) {
  FakeSlabs slabs;
  {
    const auto pool = make_pool(slabs, {.block_bytes = 100}, {.slab_bytes = 410});
    EXPECT_EQ(pool->blocks_per_slab(), 4u);
    std::set<uint32_t> blocks;
    for (int i = 0; i < 9; ++i) blocks.insert(pool->allocate());
    EXPECT_EQ(blocks.size(), 9u);
    EXPECT_EQ(pool->size_bytes(), 3 * 410u);
    EXPECT_EQ(pool->num_free(), 3u);
    for (uint32_t block = 4; block < 8; ++block) pool->release(block);
    EXPECT_EQ(pool->size_bytes(), 2 * 410u) << "the slab in the middle";
    std::vector<tenon_buffer*> views;
    pool->copy_slabs(views);
    EXPECT_EQ(views.size(), 3u);
    EXPECT_EQ(views[1], nullptr);
    for (int i = 0; i < 7; ++i) blocks.insert(pool->allocate());
    EXPECT_EQ(blocks.size(), 12u) << "its place and its slab serve again";
    EXPECT_EQ(slabs.num_created, 3u);
    for (const uint32_t block : blocks) pool->release(block);
    EXPECT_EQ(pool->num_used(), 0u);
    EXPECT_EQ(pool->size_bytes(), 0u);
  }
  EXPECT_EQ(slabs.num_alive, 0u);
}

TEST(BlockPool, FillsTheFirstSlabsFirst) {
  FakeSlabs slabs;
  const auto pool = make_pool(slabs, {.block_bytes = 100}, {.slab_bytes = 200});
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(pool->allocate(), i);
  for (const uint32_t block : {6u, 3u, 4u}) pool->release(block);
  EXPECT_EQ(pool->allocate(), 3u);
  EXPECT_EQ(pool->allocate_before(1), BlockPool::kNoBlock);
  EXPECT_EQ(pool->allocate_before(5), BlockPool::kNoBlock) << "in the same slab";
  EXPECT_EQ(pool->allocate_before(7), 4u);
  EXPECT_EQ(pool->allocate(), 6u);
  for (uint32_t block = 0; block < 8; ++block) pool->release(block);
}

TEST(BlockPool, NeverHoldsMoreThanItsBudget) {
  FakeSlabs slabs;
  const auto pool =
      make_pool(slabs, {.block_bytes = 100}, {.slab_bytes = 200, .budget_bytes = 650});
  std::vector<uint32_t> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(pool->allocate());
  EXPECT_EQ(slabs.bytes_alive, 600u);
  for (int i = 0; i < 2; ++i) {
    try {
      pool->allocate();
      FAIL() << "a seventh block";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::NoMemory);
      EXPECT_THAT(error.what(), HasSubstr("100 more bytes"));
      EXPECT_THAT(error.what(), HasSubstr("650"));
    }
  }
  pool->release(blocks.back());
  EXPECT_EQ(pool->allocate(), blocks.back());
  for (const uint32_t block : blocks) pool->release(block);
}

TEST(BlockPool, BudgetBelowOneSlabHoldsNone) {
  FakeSlabs slabs;
  const auto pool = make_pool(slabs, {.block_bytes = 100}, {.slab_bytes = 100, .budget_bytes = 99});
  EXPECT_THROW(pool->allocate(), Error);
  EXPECT_EQ(slabs.num_created, 0u);
  EXPECT_EQ(pool->max_blocks(), 0u);
}

TEST(BlockPool, RefusesBlocksThatNoSlabHolds) {
  FakeSlabs slabs;
  EXPECT_THROW(make_pool(slabs, {.block_bytes = 100}, {.slab_bytes = 99}), Error);
  EXPECT_THROW(make_pool(slabs, {.block_bytes = 0}), Error);
}

TEST(BlockPool, IsUnchangedWhenTheDeviceHasNoMemory) {
  FakeSlabs slabs;
  slabs.limit = 1;
  const auto pool = make_pool(slabs, {.block_bytes = 100}, {.slab_bytes = 200});
  const uint32_t a = pool->allocate();
  const uint32_t b = pool->allocate();
  EXPECT_THROW(pool->allocate(), Error);
  EXPECT_EQ(pool->num_used(), 2u);
  pool->release(b);
  EXPECT_EQ(pool->allocate(), b);
  slabs.limit = UINT64_MAX;
  const uint32_t c = pool->allocate();
  EXPECT_NE(c, a);
  for (const uint32_t block : {a, b, c}) pool->release(block);
}

TEST(BlockPool, FreesABlockWithItsLastReference) {
  FakeSlabs slabs;
  const auto pool = make_pool(slabs, {.block_bytes = 100});
  const uint32_t block = pool->allocate();
  pool->retain(block);
  pool->retain(block);
  EXPECT_EQ(pool->references(block), 3u);
  pool->release(block);
  pool->release(block);
  EXPECT_EQ(pool->num_used(), 1u);
  pool->release(block);
  EXPECT_EQ(pool->num_used(), 0u);
}

TEST(BlockPool, CopiesFromSlabToSlab) {
  FakeSlabs slabs;
  const auto pool = make_pool(slabs, {.block_bytes = 1000}, {.slab_bytes = 1000});
  const uint32_t a = pool->allocate();
  const uint32_t b = pool->allocate();
  first_byte(*pool, a) = std::byte{7};
  pool->copy(b, a);
  EXPECT_EQ(first_byte(*pool, b), std::byte{7});
  pool->release(a);
  pool->release(b);
}

// ---- Several groups on one slab pool ------------------------------------------------------------

TEST(SlabPool, LendsToEachGroupWhatOthersGaveBack) {
  FakeSlabs slabs;
  const std::vector<BlockPoolOptions> groups = {{.block_bytes = 100}, {.block_bytes = 400}};
  const auto pools = make_block_pools(slabs, groups, 400, 1200);
  ASSERT_EQ(pools[0]->slab_pool()->slab_bytes(), 400u);
  std::vector<uint32_t> small;
  for (int i = 0; i < 12; ++i) small.push_back(pools[0]->allocate());
  EXPECT_THROW(pools[1]->allocate(), Error) << "one group has all";
  for (const uint32_t block : small) pools[0]->release(block);
  std::vector<uint32_t> large;
  for (int i = 0; i < 3; ++i) large.push_back(pools[1]->allocate());
  EXPECT_EQ(slabs.num_created, 3u) << "the same memory";
  EXPECT_THROW(pools[0]->allocate(), Error);
  pools[1]->release(large.back());
  large.pop_back();
  const uint32_t again = pools[0]->allocate();
  EXPECT_EQ(pools[0]->slab_pool()->held_bytes(), 1200u);
  pools[0]->release(again);
  for (const uint32_t block : large) pools[1]->release(block);
}

TEST(SlabPool, TellsWhatFitsAtOnce) {
  FakeSlabs slabs;
  const std::vector<BlockPoolOptions> groups = {{.block_bytes = 100}, {.block_bytes = 400}};
  const auto pools = make_block_pools(slabs, groups, 400, 1200);
  const auto fits = [&](uint64_t small, uint64_t large) {
    const uint64_t needed[] = {small, large};
    return have_room(pools, needed);
  };
  EXPECT_TRUE(fits(12, 0) && fits(8, 1) && fits(4, 2) && fits(0, 3));
  EXPECT_FALSE(fits(13, 0) || fits(9, 1) || fits(5, 2) || fits(1, 3));
  const uint32_t one = pools[0]->allocate();
  EXPECT_TRUE(fits(11, 0) && fits(3, 2));
  EXPECT_FALSE(fits(12, 0) || fits(0, 3));
  pools[0]->release(one);
}

TEST(SlabPool, GivesMemoryBackToTheDevice) {
  FakeSlabs slabs;
  const auto pool = make_pool(slabs, {.block_bytes = 100}, {.slab_bytes = 100});
  std::vector<uint32_t> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(pool->allocate());
  for (; blocks.size() > 16; blocks.pop_back()) pool->release(blocks.back());
  EXPECT_EQ(slabs.num_alive, 40u) << "not by a thread without the device's turn";
  pool->slab_pool()->trim();
  EXPECT_EQ(slabs.num_alive, 16u + 2 + 1) << "one in eight is kept for what comes, and one";
  EXPECT_EQ(pool->slab_pool()->held_bytes(), 1900u);
  for (const uint32_t block : blocks) pool->release(block);
  pool->slab_pool()->trim();
  EXPECT_EQ(slabs.num_alive, 1u) << "the next sequence does not wait for the device";
}

TEST(SlabPool, ChoosesSlabsThatLeaveLittleOver) {
  const auto choose = [](std::vector<uint64_t> blocks, uint64_t device, uint64_t budget) {
    return choose_slab_bytes(blocks, device, budget);
  };
  EXPECT_EQ(choose({100}, 1000, UINT64_MAX), 1000u);
  EXPECT_EQ(choose({100}, 1050, UINT64_MAX), 1000u) << "whole blocks";
  EXPECT_EQ(choose({100}, 50, UINT64_MAX), 100u) << "a block at least";
  EXPECT_EQ(choose({100}, 1000, 700), 100u) << "all blocks of a small budget";
  EXPECT_EQ(choose({100, 500}, 4000, UINT64_MAX), 1000u);
  EXPECT_EQ(choose({300, 200}, 5000, UINT64_MAX) % 600, 0u);
  EXPECT_EQ(choose({7}, 0, 0), 7u);
  EXPECT_GT(choose({}, 0, 0), 0u);
}

}  // namespace
}  // namespace tenon
