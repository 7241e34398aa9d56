#include "bench_cells.h"

#include <gtest/gtest.h>

namespace {

using tenon_program::percentile;

TEST(Percentile, HalfOfThemIsTheMedian) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({7}, 0.5), 7);
  EXPECT_EQ(percentile({9, 1}, 0.5), 5);
  EXPECT_EQ(percentile({9, 1, 2}, 0.5), 2);
  EXPECT_EQ(percentile({9, 1, 2, 4}, 0.5), 3);
}

TEST(Percentile, LiesOnALineBetweenItsNeighbours) {
  EXPECT_EQ(percentile({7}, 0.99), 7);
  EXPECT_DOUBLE_EQ(percentile({0, 10}, 0.95), 9.5);
  EXPECT_EQ(percentile({1, 2, 3, 4, 5}, 0.75), 4);
  EXPECT_EQ(percentile({1, 2, 3}, 1), 3);
  EXPECT_EQ(percentile({1, 2, 3}, 0), 1);
}

}  // namespace
