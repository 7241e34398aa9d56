#include "text/bpe/merge_table.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(MergeTable, FindsWhatWasInsertedAndNothingElse) {
  MergeTable table(3);
  EXPECT_TRUE(table.insert(1, 2, {7, 100}));
  EXPECT_TRUE(table.insert(2, 1, {8, 101}));
  EXPECT_TRUE(table.insert(~5, 0, {9, 102}));
  EXPECT_FALSE(table.insert(1, 2, {1, 1}));
  EXPECT_EQ(table.find(1, 2).result, 100);
  EXPECT_EQ(table.find(2, 1).rank, 8u);
  EXPECT_EQ(table.find(~5, 0).result, 102);
  EXPECT_EQ(table.find(0, ~5).rank, Merge::kNoRank);
}

}  // namespace
}  // namespace tenon
