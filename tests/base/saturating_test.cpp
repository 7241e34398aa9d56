#include "base/saturating.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Saturating, StaysAtTheLargestValue) {
  EXPECT_EQ(saturating_add(2, 3), 5u);
  EXPECT_EQ(saturating_add(UINT64_MAX - 1, 1), UINT64_MAX);
  EXPECT_EQ(saturating_add(UINT64_MAX, 1), UINT64_MAX);
  EXPECT_EQ(saturating_mul(0, UINT64_MAX), 0u);
  EXPECT_EQ(saturating_mul(uint64_t{1} << 32, uint64_t{1} << 31), uint64_t{1} << 63);
  EXPECT_EQ(saturating_mul(uint64_t{1} << 32, uint64_t{1} << 32), UINT64_MAX);
}

}  // namespace
}  // namespace tenon
