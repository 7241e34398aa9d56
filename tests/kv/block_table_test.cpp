// Block tables: sharing, copy on write, rewind, failures half-way.
#include "kv/block_table.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/kv/fake_slabs.h"

namespace tenon {
namespace {

class BlockTables : public testing::Test {
 protected:
  std::shared_ptr<BlockPool> make_pool(uint64_t max_blocks = 1000) {
    return std::make_shared<BlockPool>(slabs_, BlockPoolOptions{.block_bytes = 64,
                                                                .block_tokens = 4,
                                                                .budget_bytes = 64 * max_blocks,
                                                                .slab_bytes = 64 * 2});
  }
  FakeSlabs slabs_;
};

TEST_F(BlockTables, HoldsAsManyBlocksAsPositionsNeed) {
  const auto pool = make_pool();
  BlockTable table(pool, 100);
  table.prepare(0, 0);
  EXPECT_EQ(table.blocks().size(), 0u);
  table.prepare(0, 1);
  EXPECT_EQ(table.blocks().size(), 1u);
  table.prepare(1, 3);
  EXPECT_EQ(table.blocks().size(), 1u);
  table.prepare(4, 1);
  EXPECT_EQ(table.blocks().size(), 2u);
  table.prepare(5, 95);
  EXPECT_EQ(table.blocks().size(), 25u);
  EXPECT_EQ(pool->num_used(), 25u);
}

TEST_F(BlockTables, RefusesPositionsBeyondItsRoom) {
  const auto pool = make_pool();
  BlockTable table(pool, 8);
  EXPECT_THROW(table.prepare(0, 9), Error);
  EXPECT_THROW(table.prepare(1, UINT64_MAX), Error);
  EXPECT_THROW(table.prepare(5, 1), Error);  // a hole before it
  EXPECT_EQ(pool->num_used(), 0u);
}

TEST_F(BlockTables, TruncateFreesWholeBlocksOnly) {
  const auto pool = make_pool();
  BlockTable table(pool, 100);
  table.prepare(0, 10);
  const uint32_t first = table.blocks()[0];
  table.truncate(5);
  EXPECT_EQ(table.blocks().size(), 2u);
  table.truncate(4);
  EXPECT_EQ(table.blocks().size(), 1u);
  EXPECT_EQ(table.blocks()[0], first);
  table.truncate(0);
  EXPECT_EQ(pool->num_used(), 0u);
}

TEST_F(BlockTables, ForkSharesAndCopiesThePartBlockOnWrite) {
  const auto pool = make_pool();
  BlockTable parent(pool, 100);
  parent.prepare(0, 6);
  first_byte(*pool, parent.blocks()[1]) = std::byte{42};
  BlockTable child = parent.fork();
  EXPECT_EQ(pool->num_used(), 2u);
  child.prepare(6, 1);
  EXPECT_EQ(slabs_.num_copies, 1u);
  EXPECT_EQ(child.blocks()[0], parent.blocks()[0]);
  EXPECT_NE(child.blocks()[1], parent.blocks()[1]);
  EXPECT_EQ(first_byte(*pool, child.blocks()[1]), std::byte{42});
  // The parent is alone with its block now and writes in place.
  const uint32_t own = parent.blocks()[1];
  parent.prepare(6, 1);
  EXPECT_EQ(parent.blocks()[1], own);
  EXPECT_EQ(slabs_.num_copies, 1u);
}

TEST_F(BlockTables, ForkAtABlockBorderCopiesNothing) {
  const auto pool = make_pool();
  BlockTable parent(pool, 100);
  parent.prepare(0, 8);
  BlockTable child = parent.fork();
  child.prepare(8, 3);
  parent.prepare(8, 3);
  EXPECT_EQ(slabs_.num_copies, 0u);
  EXPECT_EQ(pool->num_used(), 4u);
}

TEST_F(BlockTables, RewindIntoASharedBlockCopiesIt) {
  const auto pool = make_pool();
  BlockTable parent(pool, 100);
  parent.prepare(0, 8);
  BlockTable child = parent.fork();
  child.prepare(2, 1);  // position 2 again
  EXPECT_EQ(child.blocks().size(), 1u);
  EXPECT_NE(child.blocks()[0], parent.blocks()[0]);
  EXPECT_EQ(pool->references(parent.blocks()[0]), 1u);
  EXPECT_EQ(pool->references(parent.blocks()[1]), 1u);
}

TEST_F(BlockTables, KeepsWhatItHadWhenMemoryRunsOut) {
  const auto pool = make_pool(3);
  BlockTable table(pool, 100);
  table.prepare(0, 6);
  EXPECT_THROW(table.prepare(6, 20), Error);
  EXPECT_EQ(table.blocks().size(), 2u);
  EXPECT_EQ(pool->num_used(), 2u);
  table.prepare(6, 6);
  EXPECT_EQ(table.blocks().size(), 3u);
  BlockTable child = table.fork();
  EXPECT_THROW(child.prepare(11, 1), Error);  // the copy does not fit
  EXPECT_EQ(child.blocks()[2], table.blocks()[2]);
}

TEST_F(BlockTables, GivesTheCopyBackWhenCopyingFails) {
  const auto pool = make_pool();
  BlockTable parent(pool, 100);
  parent.prepare(0, 2);
  BlockTable child = parent.fork();
  slabs_.copy_fails = true;
  EXPECT_THROW(child.prepare(2, 1), Error);
  EXPECT_EQ(pool->num_used(), 1u);
  EXPECT_EQ(child.blocks()[0], parent.blocks()[0]);
}

TEST_F(BlockTables, TellsHowManyBlocksPreparingTakes) {
  const auto pool = make_pool();
  BlockTable table(pool, 100);
  EXPECT_EQ(table.num_needed(0, 0), 0u);
  EXPECT_EQ(table.num_needed(0, 6), 2u);
  table.prepare(0, 6);
  EXPECT_EQ(table.num_needed(6, 0), 0u);
  EXPECT_EQ(table.num_needed(6, 2), 0u) << "to the end of the block";
  EXPECT_EQ(table.num_needed(6, 3), 1u);
  EXPECT_EQ(table.num_needed(6, 10), 2u);
  EXPECT_EQ(table.num_needed(2, 7), 2u) << "the block that a rewind gives back is taken anew";
  const BlockTable other = table.fork();
  EXPECT_EQ(table.num_needed(6, 1), 1u) << "the copy of the shared block";
  EXPECT_EQ(table.num_needed(6, 3), 2u) << "the copy and a new one";
  EXPECT_EQ(table.num_needed(2, 1), 1u) << "the copy of another shared block";
  EXPECT_EQ(table.num_needed(4, 1), 1u) << "at the border of a block nothing is copied";
  EXPECT_EQ(table.num_needed(0, 1), 1u);
}

TEST_F(BlockTables, TakesAsManyBlocksAsItTells) {
  for (const bool shared : {false, true}) {
    for (uint64_t past = 0; past <= 9; ++past) {
      for (uint64_t count = 0; count <= 9; ++count) {
        SCOPED_TRACE(testing::Message() << past << " + " << count << (shared ? ", shared" : ""));
        const auto pool = make_pool();
        BlockTable table(pool, 100);
        table.prepare(0, 9);
        const std::optional<BlockTable> other = shared ? std::optional(table.fork()) : std::nullopt;
        const uint64_t needed = table.num_needed(past, count);
        const uint64_t used = pool->num_used();
        table.prepare(past, count);
        const uint64_t kept = (past + 3) / 4;
        const uint64_t given_back = count == 0 || shared ? 0 : 3 - kept;
        EXPECT_EQ(pool->num_used() + given_back, used + needed);
      }
    }
  }
}

TEST_F(BlockTables, ReleasesEverythingAtTheEnd) {
  const auto pool = make_pool();
  {
    BlockTable table(pool, 100);
    table.prepare(0, 30);
    const BlockTable child = table.fork();
    const BlockTable moved = std::move(table);
    EXPECT_EQ(pool->num_used(), 8u);
  }
  EXPECT_EQ(pool->num_used(), 0u);
}

}  // namespace
}  // namespace tenon
