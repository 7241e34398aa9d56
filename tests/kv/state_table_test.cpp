// State tables: alternating states, checkpoints, rewind, sharing.
#include "kv/state_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kv/fake_slabs.h"

namespace tenon {
namespace {

class StateTables : public testing::Test {
 protected:
  std::shared_ptr<BlockPool> pool(uint32_t checkpoints = 2, uint32_t between = 16) {
    return make_pool(slabs_,
                     {.block_bytes = 64,
                      .block_tokens = 4,
                      .kind = TENON_CACHE_STATE,
                      .state_checkpoints = checkpoints,
                      .state_checkpoint_tokens = between},
                     {.slab_bytes = 64});
  }
  /// Computes [from, to) of a text of `size` tokens; a state's content is its number of tokens.
  void compute(CacheTable& table, uint64_t from, uint64_t to, uint64_t size, uint64_t slice = 256) {
    for (uint64_t past = from; past < to;) {
      const uint64_t stop = table.next_stop(past, size);
      ASSERT_GT(stop, past);
      const uint64_t end = std::min({to, past + slice, stop});
      table.trim(past);
      table.prepare(past, end - past);
      step(table, past, end);
      table.commit(end, end == stop);
      past = end;
    }
  }
  static void step(const CacheTable& table, uint64_t past, uint64_t end) {
    const auto entries = table.entries();
    ASSERT_EQ(entries.size(), 2u);
    ASSERT_NE(entries[1], BlockPool::kNoBlock);
    ASSERT_EQ(entries[0] == BlockPool::kNoBlock, past == 0);
    if (past > 0) {
      ASSERT_EQ(first_byte(table.pool(), entries[0]), static_cast<std::byte>(past)) << past;
    }
    first_byte(table.pool(), entries[1]) = static_cast<std::byte>(end);
  }
  FakeSlabs slabs_;
};

TEST_F(StateTables, WriteTwoBlocksInTurn) {
  const auto blocks = pool(0);
  {
    StateTable table(blocks);
    EXPECT_EQ(table.num_needed(0, 1), 1u);
    compute(table, 0, 50, 1000, 1);
    EXPECT_EQ(blocks->num_used(), 2u);
    EXPECT_EQ(table.num_needed(50, 1), 0u);
    EXPECT_EQ(slabs_.num_created, 2u);
    EXPECT_EQ(slabs_.num_copies, 0u);
  }
  EXPECT_EQ(blocks->num_used(), 0u);
}

TEST_F(StateTables, SurviveAStepThatFails) {
  const auto blocks = pool();
  StateTable table(blocks);
  compute(table, 0, 5, 5);
  table.prepare(5, 3);
  first_byte(*blocks, table.entries()[1]) = std::byte{99};
  table.truncate(5);
  EXPECT_EQ(table.resumable(5), 5u);
  compute(table, 5, 9, 9);
}

TEST_F(StateTables, GoBackByTheLastSliceToACheckpointOrToTheBeginning) {
  const auto blocks = pool(2, 1000);
  StateTable table(blocks);
  compute(table, 0, 22, 22);  // stops after 20, the last whole block before the last token
  compute(table, 22, 30, 1000, 1);
  EXPECT_EQ(table.resumable(30), 30u);
  EXPECT_EQ(table.resumable(29), 29u) << "the state before";
  EXPECT_EQ(table.resumable(28), 20u) << "the end of the prompt";
  EXPECT_EQ(table.resumable(19), 0u);
  EXPECT_EQ(table.resumable(100), 30u);
  table.truncate(29);
  EXPECT_EQ(blocks->num_used(), 2u);
  compute(table, 29, 31, 1000, 1);
  table.truncate(20);
  compute(table, 20, 25, 1000, 1);
  table.truncate(0);
  EXPECT_EQ(blocks->num_used(), 0u);
  EXPECT_EQ(table.num_held(), 0u);
  EXPECT_THROW(table.prepare(5, 1), Error);
  compute(table, 0, 3, 3);
}

TEST_F(StateTables, ForksReadOneStateAndWriteTheirOwn) {
  const auto blocks = pool(1);
  StateTable table(blocks);
  compute(table, 0, 9, 9);
  const uint64_t used = blocks->num_used();
  const auto child = table.fork();
  EXPECT_EQ(blocks->num_used(), used);
  EXPECT_EQ(child->num_needed(9, 1), 1u);
  compute(*child, 9, 12, 1000, 1);
  compute(table, 9, 14, 1000, 1);
  compute(*child, 12, 13, 1000, 1);
  EXPECT_EQ(slabs_.num_copies, 0u);
  EXPECT_EQ(child->resumable(10), 8u) << "the checkpoint is there for both";
  child->truncate(8);
  compute(*child, 8, 10, 1000, 1);
}

TEST_F(StateTables, StopAtBlocksWhereCheckpointsAreWanted) {
  const auto blocks = pool(2, 17);
  StateTable table(blocks);
  EXPECT_EQ(table.next_stop(0, 100), 16u) << "whole blocks";
  EXPECT_EQ(table.next_stop(16, 100), 32u);
  EXPECT_EQ(table.next_stop(16, 31), 28u) << "before the last token of a prompt";
  EXPECT_EQ(table.next_stop(16, 29), 28u);
  EXPECT_EQ(table.next_stop(16, 28), 24u) << "whose logits are wanted";
  EXPECT_EQ(table.next_stop(28, 30), 32u);
  EXPECT_EQ(table.next_stop(0, 0), 16u);
  EXPECT_EQ(StateTable(pool(2, 0)).next_stop(5, 100), 8u) << "each block";
  EXPECT_EQ(StateTable(pool(0)).next_stop(5, 100), UINT64_MAX);
}

TEST_F(StateTables, KeepFewCheckpointsTheRarerTheFurtherBack) {
  const auto blocks = pool(4, 4);
  StateTable table(blocks);
  for (uint64_t end = 1; end <= 240; ++end) {
    compute(table, end - 1, end, 1000, 1);
    ASSERT_LE(table.num_checkpoints(), 4u);
    ASSERT_LE(blocks->num_used(), 6u);
    ASSERT_EQ(blocks->num_used(), table.num_held());
    for (uint64_t back = 0; back < end; ++back) {
      // 23 is the maximum over all lengths up to 8,000, the mean is 8.
      ASSERT_LE(end - back - table.resumable(end - back), 24 * (back + 8)) << end;
    }
  }
}

TEST_F(StateTables, GiveBackWhatTheyCanDoWithout) {
  const auto blocks = pool(3, 4);
  StateTable table(blocks);
  compute(table, 0, 14, 1000, 2);
  EXPECT_EQ(table.num_checkpoints(), 3u);
  while (table.drop_spare()) {
  }
  EXPECT_EQ(table.resumable(14), 14u);
  EXPECT_EQ(table.resumable(13), 0u) << "a checkpoint was kept";
  EXPECT_EQ(blocks->num_used(), 1u);
  compute(table, 14, 20, 1000, 2);
}

TEST_F(StateTables, AreSharedAtTheEndsOfBlocks) {
  const auto blocks = pool(2, 8);
  StateTable table(blocks);
  compute(table, 0, 21, 21);
  EXPECT_EQ(table.shared_block(3), table.state_after(16));
  EXPECT_NE(table.shared_block(3), BlockPool::kNoBlock);
  EXPECT_EQ(table.shared_block(0), BlockPool::kNoBlock);
  EXPECT_EQ(table.first_needed(4), 3u);
  StateTable other(blocks);
  compute(other, 0, 6, 6);
  other.adopt(3, table.shared_block(3));
  EXPECT_EQ(other.resumable(20), 16u);
  compute(other, 16, 20, 20);
  EXPECT_EQ(other.resumable(19), 16u);
}

}  // namespace
}  // namespace tenon
