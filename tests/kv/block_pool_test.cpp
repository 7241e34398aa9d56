// The pool: budget, slabs on demand, failures of the device.
#include "kv/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "tests/kv/fake_slabs.h"

namespace tenon {
namespace {

using testing::HasSubstr;

TEST(BlockPool, AllocatesNothingBeforeItIsAsked) {
  FakeSlabs slabs;
  BlockPool pool(slabs, {.block_bytes = 100});
  EXPECT_EQ(slabs.num_created, 0u);
  EXPECT_EQ(pool.size_bytes(), 0u);
  EXPECT_EQ(pool.view().num_slabs, 0u);
}

TEST(BlockPool, MakesSlabsOnDemandAndReusesBlocks) {
  FakeSlabs slabs;
  {
    BlockPool pool(slabs, {.block_bytes = 100, .slab_bytes = 400});
    std::set<uint32_t> blocks;
    for (int i = 0; i < 9; ++i) blocks.insert(pool.allocate());
    EXPECT_EQ(blocks.size(), 9u);
    EXPECT_EQ(pool.view().num_slabs, 3u);
    EXPECT_EQ(pool.view().blocks_per_slab, 4u);
    EXPECT_EQ(pool.size_bytes(), 1200u);
    for (const uint32_t block : blocks) pool.release(block);
    EXPECT_EQ(pool.num_used(), 0u);
    for (int i = 0; i < 12; ++i) blocks.insert(pool.allocate());
    EXPECT_EQ(slabs.num_created, 3u);
    for (uint32_t block = 0; block < 12; ++block) pool.release(block);
  }
  EXPECT_EQ(slabs.num_alive, 0u);
}

TEST(BlockPool, HasNoMoreAfterASlabThatWasCutShort) {
  FakeSlabs slabs;
  const auto budget = std::make_shared<KvBudget>(1000);
  BlockPool pool(slabs, {.block_bytes = 100, .slab_bytes = 400, .budget = budget});
  std::optional<BlockPool> other;
  other.emplace(slabs, BlockPoolOptions{.block_bytes = 100, .slab_bytes = 400, .budget = budget});
  other->release(other->allocate());
  for (int i = 0; i < 5; ++i) pool.allocate();
  EXPECT_EQ(pool.size_bytes(), 600u) << "the other one has the rest";
  EXPECT_EQ(pool.num_available(), 1u);
  other.reset();
  EXPECT_EQ(budget->left_bytes(), 400u);
  EXPECT_EQ(pool.num_available(), 1u) << "slabs that follow could not be told by block numbers";
  pool.allocate();
  EXPECT_THROW(pool.allocate(), Error);
  for (uint32_t block = 0; block < 6; ++block) pool.release(block);
}

TEST(BlockPool, NeverHoldsMoreThanItsBudget) {
  FakeSlabs slabs;
  BlockPool pool(slabs, {.block_bytes = 100, .budget_bytes = 650, .slab_bytes = 400});
  std::vector<uint32_t> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(pool.allocate());
  EXPECT_EQ(slabs.bytes_alive, 600u);  // the second slab is cut to the budget
  for (int i = 0; i < 2; ++i) {
    try {
      pool.allocate();
      FAIL() << "a seventh block";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::NoMemory);
      EXPECT_THAT(error.what(), HasSubstr("100 more bytes"));
      EXPECT_THAT(error.what(), HasSubstr("650"));
    }
  }
  pool.release(blocks.back());
  EXPECT_EQ(pool.allocate(), blocks.back());
  for (const uint32_t block : blocks) pool.release(block);
}

TEST(BlockPool, BudgetBelowOneBlockHoldsNone) {
  FakeSlabs slabs;
  BlockPool pool(slabs, {.block_bytes = 100, .budget_bytes = 99});
  EXPECT_THROW(pool.allocate(), Error);
  EXPECT_EQ(slabs.num_created, 0u);
}

TEST(BlockPool, IsUnchangedWhenTheDeviceHasNoMemory) {
  FakeSlabs slabs;
  slabs.limit = 1;
  BlockPool pool(slabs, {.block_bytes = 100, .slab_bytes = 200});
  const uint32_t a = pool.allocate();
  const uint32_t b = pool.allocate();
  EXPECT_THROW(pool.allocate(), Error);
  EXPECT_EQ(pool.num_used(), 2u);
  pool.release(b);
  EXPECT_EQ(pool.allocate(), b);
  slabs.limit = UINT64_MAX;
  const uint32_t c = pool.allocate();
  EXPECT_NE(c, a);
  for (const uint32_t block : {a, b, c}) pool.release(block);
}

TEST(BlockPool, FreesABlockWithItsLastReference) {
  FakeSlabs slabs;
  BlockPool pool(slabs, {.block_bytes = 100});
  const uint32_t block = pool.allocate();
  pool.retain(block);
  pool.retain(block);
  EXPECT_EQ(pool.references(block), 3u);
  pool.release(block);
  pool.release(block);
  EXPECT_EQ(pool.num_used(), 1u);
  pool.release(block);
  EXPECT_EQ(pool.num_used(), 0u);
}

TEST(BlockPool, BlocksLargerThanASlabGetOneEach) {
  FakeSlabs slabs;
  BlockPool pool(slabs, {.block_bytes = 1000, .slab_bytes = 10});
  const uint32_t a = pool.allocate();
  const uint32_t b = pool.allocate();
  EXPECT_EQ(pool.view().num_slabs, 2u);
  first_byte(pool, a) = std::byte{7};
  pool.copy(b, a);
  EXPECT_EQ(first_byte(pool, b), std::byte{7});
  pool.release(a);
  pool.release(b);
}

}  // namespace
}  // namespace tenon
