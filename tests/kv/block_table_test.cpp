// Block tables: sharing, copy on write, rewind, partial failures.
#include "kv/block_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kv/fake_slabs.h"

namespace tenon {
namespace {

class BlockTables : public testing::Test {
 protected:
  std::shared_ptr<BlockPool> make_pool(uint64_t max_blocks = 1000, uint32_t window = 0,
                                       uint32_t stride = 0) {
    BlockPoolOptions options{
        .block_bytes = 64, .block_tokens = 4, .window = window, .stride = stride};
    if (window > 0) options.kind = TENON_CACHE_WINDOW;
    return tenon::make_pool(slabs_, options, {.slab_bytes = 64, .budget_bytes = 64 * max_blocks});
  }
  FakeSlabs slabs_;
};

TEST_F(BlockTables, HoldsAsManyBlocksAsPositionsNeed) {
  const auto pool = make_pool();
  BlockTable table(pool, 100);
  table.prepare(0, 0);
  EXPECT_EQ(table.entries().size(), 0u);
  table.prepare(0, 1);
  EXPECT_EQ(table.entries().size(), 1u);
  table.prepare(1, 3);
  EXPECT_EQ(table.entries().size(), 1u);
  table.prepare(4, 1);
  EXPECT_EQ(table.entries().size(), 2u);
  table.prepare(5, 95);
  EXPECT_EQ(table.entries().size(), 25u);
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
  const uint32_t first = table.entries()[0];
  table.truncate(5);
  EXPECT_EQ(table.entries().size(), 2u);
  table.truncate(4);
  EXPECT_EQ(table.entries().size(), 1u);
  EXPECT_EQ(table.entries()[0], first);
  table.truncate(0);
  EXPECT_EQ(pool->num_used(), 0u);
}

TEST_F(BlockTables, ForkSharesAndCopiesThePartBlockOnWrite) {
  const auto pool = make_pool();
  BlockTable parent(pool, 100);
  parent.prepare(0, 6);
  first_byte(*pool, parent.entries()[1]) = std::byte{42};
  const auto forked = parent.fork();
  CacheTable& child = *forked;
  EXPECT_EQ(pool->num_used(), 2u);
  child.prepare(6, 1);
  EXPECT_EQ(slabs_.num_copies, 1u);
  EXPECT_EQ(child.entries()[0], parent.entries()[0]);
  EXPECT_NE(child.entries()[1], parent.entries()[1]);
  EXPECT_EQ(first_byte(*pool, child.entries()[1]), std::byte{42});
  // The parent's block is no longer shared, so it writes in place.
  const uint32_t own = parent.entries()[1];
  parent.prepare(6, 1);
  EXPECT_EQ(parent.entries()[1], own);
  EXPECT_EQ(slabs_.num_copies, 1u);
}

TEST_F(BlockTables, ForkAtABlockBorderCopiesNothing) {
  const auto pool = make_pool();
  BlockTable parent(pool, 100);
  parent.prepare(0, 8);
  const auto forked = parent.fork();
  CacheTable& child = *forked;
  child.prepare(8, 3);
  parent.prepare(8, 3);
  EXPECT_EQ(slabs_.num_copies, 0u);
  EXPECT_EQ(pool->num_used(), 4u);
}

TEST_F(BlockTables, RewindIntoASharedBlockCopiesIt) {
  const auto pool = make_pool();
  BlockTable parent(pool, 100);
  parent.prepare(0, 8);
  const auto forked = parent.fork();
  CacheTable& child = *forked;
  child.prepare(2, 1);  // position 2 again
  EXPECT_EQ(child.entries().size(), 1u);
  EXPECT_NE(child.entries()[0], parent.entries()[0]);
  EXPECT_EQ(pool->references(parent.entries()[0]), 1u);
  EXPECT_EQ(pool->references(parent.entries()[1]), 1u);
}

TEST_F(BlockTables, KeepsWhatItHadWhenMemoryRunsOut) {
  const auto pool = make_pool(3);
  BlockTable table(pool, 100);
  table.prepare(0, 6);
  EXPECT_THROW(table.prepare(6, 20), Error);
  EXPECT_EQ(table.entries().size(), 2u);
  EXPECT_EQ(pool->num_used(), 2u);
  table.prepare(6, 6);
  EXPECT_EQ(table.entries().size(), 3u);
  const auto forked = table.fork();
  CacheTable& child = *forked;
  EXPECT_THROW(child.prepare(11, 1), Error);  // the copy does not fit
  EXPECT_EQ(child.entries()[2], table.entries()[2]);
}

TEST_F(BlockTables, GivesTheCopyBackWhenCopyingFails) {
  const auto pool = make_pool();
  BlockTable parent(pool, 100);
  parent.prepare(0, 2);
  const auto forked = parent.fork();
  CacheTable& child = *forked;
  slabs_.copy_fails = true;
  EXPECT_THROW(child.prepare(2, 1), Error);
  EXPECT_EQ(pool->num_used(), 1u);
  EXPECT_EQ(child.entries()[0], parent.entries()[0]);
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
  const auto other = table.fork();
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
        const auto other = shared ? table.fork() : nullptr;
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
    const auto child = table.fork();
    EXPECT_EQ(pool->num_used(), 8u);
  }
  EXPECT_EQ(pool->num_used(), 0u);
}

// ---- Windows ------------------------------------------------------------------------------------

/// Computes a text in slices; returns the most blocks held at a time.
uint64_t compute(BlockTable& table, uint64_t from, uint64_t to, uint64_t slice) {
  uint64_t most = 0;
  for (uint64_t past = from; past < to; past += slice) {
    const uint64_t count = std::min(slice, to - past);
    table.trim(past);
    table.prepare(past, count);
    table.commit(past + count, false);
    most = std::max(most, table.num_held());
  }
  return most;
}

TEST_F(BlockTables, OfAWindowHoldItAndOneBlockAndTheSlice) {
  // 100,000 positions with a window of 1,024 in blocks of 32 fit the memory of 2,048 positions.
  const auto pool = tenon::make_pool(
      slabs_, {.block_bytes = 64, .block_tokens = 32, .kind = TENON_CACHE_WINDOW, .window = 1024},
      {.slab_bytes = 256, .budget_bytes = 64 * 2048 / 32});
  BlockTable table(pool, 200'000);
  const uint64_t most = compute(table, 0, 100'000, 256);
  EXPECT_LE(most, (1024 + 256) / 32 + 2u);
  EXPECT_LE(most, table.most_blocks(100'000, 256));
  EXPECT_LE(slabs_.num_created * 256, 64u * 2048 / 32);
  EXPECT_EQ(compute(table, 100'000, 100'200, 1), 1024 / 32 + 2u) << "while generating";
  EXPECT_EQ(table.entries().size(), (100'200u + 31) / 32) << "numbered as without a window";
  EXPECT_EQ(table.num_held(), pool->num_used());
}

TEST_F(BlockTables, OfAWindowHaveWhatEveryTokenOfTheStepSees) {
  for (const uint32_t window : {1u, 2u, 3u, 4u, 5u, 8u, 9u, 13u}) {
    for (const uint64_t slice : {1u, 3u, 4u, 7u}) {
      SCOPED_TRACE(testing::Message() << "window " << window << ", slice " << slice);
      const auto pool = make_pool(1000, window);
      BlockTable table(pool, 100);
      for (uint64_t past = 0; past < 60; past += slice) {
        table.trim(past);
        EXPECT_LE(table.num_needed(past, std::min(slice, 60 - past)),
                  table.num_needed_in_all(past, 60 - past, slice));
        table.prepare(past, slice);
        const uint64_t seen = past < window ? 0 : past - window + 1;
        for (uint64_t position = seen; position < past + slice; ++position) {
          ASSERT_NE(table.entries()[position / 4], BlockPool::kNoBlock) << position;
        }
        ASSERT_LE(table.num_held(), table.most_blocks(60, slice)) << past;
        table.commit(past + slice, false);
      }
    }
  }
}

TEST_F(BlockTables, OfAWindowGoBackByABlockAndElseToTheBeginning) {
  const auto pool = make_pool(1000, 8);
  BlockTable table(pool, 100);
  compute(table, 0, 61, 1);
  table.trim(61);
  EXPECT_EQ(table.resumable(61), 61u);
  EXPECT_EQ(table.resumable(57), 57u);
  EXPECT_EQ(table.resumable(70), 61u / 4 * 4 + 4) << "no further than its blocks";
  EXPECT_EQ(table.resumable(50), 0u) << "the blocks before are gone";
  EXPECT_THROW(table.prepare(50, 1), Error);
  table.truncate(57);
  table.prepare(57, 2);
  table.truncate(0);
  EXPECT_EQ(pool->num_used(), 0u);
  table.prepare(0, 9);
  EXPECT_EQ(table.num_held(), 3u);
}

TEST_F(BlockTables, OfPoolsThatEndWithBlocksGoBackToAnyOfThem) {
  const auto pool = make_pool(1000, 2, 2);
  BlockTable table(pool, 100);
  compute(table, 0, 61, 1);
  table.trim(61);
  EXPECT_EQ(table.num_held(), 2u);
  EXPECT_EQ(table.resumable(61), 61u);
  EXPECT_EQ(table.resumable(57), 57u);
  EXPECT_EQ(table.resumable(51), 48u) << "of the pool of 50 the first is gone";
  EXPECT_EQ(table.resumable(48), 48u);
  table.truncate(48);
  EXPECT_EQ(table.num_held(), 0u);
  compute(table, 48, 53, 3);
  EXPECT_NE(table.entries()[12], BlockPool::kNoBlock);
  EXPECT_EQ(table.entries()[11], BlockPool::kNoBlock);
  table.truncate(0);
  EXPECT_EQ(pool->num_used(), 0u);
}

TEST_F(BlockTables, OfPoolsThatCrossBlocksGoBackAsAWindow) {
  const auto pool = make_pool(1000, 3, 3);
  BlockTable table(pool, 100);
  compute(table, 0, 61, 1);
  table.trim(61);
  EXPECT_EQ(table.resumable(57), 57u);
  EXPECT_EQ(table.resumable(48), 0u);
}

TEST_F(BlockTables, OfAWindowShareWhatTheyHave) {
  const auto pool = make_pool(1000, 8);
  BlockTable table(pool, 100);
  compute(table, 0, 41, 1);
  const auto child = table.fork();
  const uint64_t used = pool->num_used();
  EXPECT_EQ(used, table.num_held());
  compute(table, 41, 80, 1);
  EXPECT_EQ(child->entries()[9], child->shared_block(9));
  EXPECT_NE(child->shared_block(9), BlockPool::kNoBlock) << "the other one went on";
  EXPECT_EQ(child->shared_block(0), BlockPool::kNoBlock);
  child->prepare(41, 1);
  EXPECT_EQ(child->num_held() + table.num_held(), pool->num_used());
}

TEST_F(BlockTables, OfAWindowTakeBlocksFurtherOn) {
  const auto pool = make_pool(1000, 8);
  BlockTable source(pool, 100);
  compute(source, 0, 40, 4);
  BlockTable table(pool, 100);
  compute(table, 0, 6, 6);
  const uint64_t first = table.first_needed(10);
  EXPECT_EQ(first, 8u) << "position 40 sees those from 33 on";
  table.reserve(10);
  for (uint64_t i = first; i < 10; ++i) table.adopt(i, source.shared_block(i));
  EXPECT_EQ(table.num_held(), 2u);
  EXPECT_EQ(table.resumable(40), 40u);
  EXPECT_EQ(table.resumable(36), 0u);
  table.prepare(40, 1);
  EXPECT_EQ(table.entries()[9], source.shared_block(9));
}

TEST_F(BlockTables, MoveTheirOwnBlocksToEarlierSlabs) {
  const auto pool =
      tenon::make_pool(slabs_, {.block_bytes = 64, .block_tokens = 4}, {.slab_bytes = 128});
  BlockTable other(pool, 100);
  BlockTable table(pool, 100);
  for (uint64_t past = 0; past < 16; past += 4) {
    other.prepare(past, 4);
    table.prepare(past, 4);
    first_byte(*pool, table.entries()[past / 4]) = static_cast<std::byte>(past);
  }
  const auto holder = table.fork();
  other.truncate(0);
  EXPECT_EQ(pool->size_bytes(), 4 * 128u) << "half of each slab is free";
  table.compact();
  EXPECT_EQ(pool->size_bytes(), 4 * 128u) << "what others hold stays where it is";
  holder->truncate(0);
  table.compact();
  EXPECT_EQ(pool->size_bytes(), 2 * 128u);
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(first_byte(*pool, table.entries()[i]), static_cast<std::byte>(4 * i));
  }
}

}  // namespace
}  // namespace tenon
