// Rope frequencies against values computed from the papers' formulas.
#include "arch/blocks/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon {
namespace {

TEST(Rope, PlainFrequenciesAreAGeometricSeries) {
  const RopeTable table = make_rope_table({.dimensions = 8, .theta = 10000.0}, {});
  ASSERT_EQ(table.frequencies.size(), 4u);
  EXPECT_DOUBLE_EQ(table.frequencies[0], 1.0);
  EXPECT_NEAR(table.frequencies[1], 0.1, 1e-15);
  EXPECT_NEAR(table.frequencies[2], 0.01, 1e-15);
  EXPECT_NEAR(table.frequencies[3], 0.001, 1e-15);
  EXPECT_EQ(table.magnitude, 1.0);
}

TEST(Rope, LinearDividesEveryFrequency) {
  const RopeSpec rope{
      .dimensions = 4, .theta = 100.0, .scaling = RopeScaling::Linear, .factor = 4.0};
  const RopeTable table = make_rope_table(rope, {});
  EXPECT_DOUBLE_EQ(table.frequencies[0], 0.25);
  EXPECT_NEAR(table.frequencies[1], 0.025, 1e-15);
  EXPECT_EQ(table.magnitude, 1.0);
}

TEST(Rope, FactorIsIgnoredWithoutScaling) {
  const RopeTable table = make_rope_table({.dimensions = 2, .factor = 8.0}, {});
  EXPECT_EQ(table.frequencies[0], 1.0);
}

TEST(Rope, DivisorsDivideTheirOwnFrequency) {
  const float divisors[] = {1.0f, 2.0f, 8.0f};
  const RopeTable table = make_rope_table({.dimensions = 6, .theta = 1000.0}, divisors);
  EXPECT_DOUBLE_EQ(table.frequencies[0], 1.0);
  EXPECT_NEAR(table.frequencies[1], 0.1 / 2, 1e-15);
  EXPECT_NEAR(table.frequencies[2], 0.01 / 8, 1e-15);
}

TEST(Rope, PairsTurnByThreePartsInTurn) {
  const RopeSpec rope{.dimensions = 18, .interleaved_parts = {2, 1}};
  const RopeTable table = make_rope_table(rope, {});
  EXPECT_EQ(table.parts, (std::vector<double>{0, 1, 2, 0, 1, 0, 0, 0, 0}));
  EXPECT_TRUE(make_rope_table({.dimensions = 18}, {}).parts.empty());
}

TEST(Rope, YarnLeavesFastPairsAndDividesSlowOnes) {
  // With 64 dimensions, theta 10000 and 2048 original positions the pairs that turn 32 times and
  // once are 64 ln(2048 / (2 pi n)) / (2 ln 10000) = 8.06 and 20.10: the ramp goes from 8 to 21.
  const RopeSpec rope{.dimensions = 64,
                      .theta = 10000.0,
                      .scaling = RopeScaling::Yarn,
                      .factor = 4.0,
                      .original_context = 2048};
  const RopeTable table = make_rope_table(rope, {});
  const RopeTable plain = make_rope_table({.dimensions = 64, .theta = 10000.0}, {});
  for (uint32_t i = 0; i < 32; ++i) {
    const double ratio = table.frequencies[i] / plain.frequencies[i];
    const double ramp = std::min(1.0, std::max(0.0, (i - 8.0) / 13.0));
    EXPECT_NEAR(ratio, (1.0 - ramp) + ramp / 4.0, 1e-12) << i;
  }
  EXPECT_EQ(table.frequencies[8], plain.frequencies[8]);
  EXPECT_DOUBLE_EQ(table.frequencies[21], plain.frequencies[21] / 4.0);
  EXPECT_NEAR(table.magnitude, 1.0 + 0.1 * std::log(4.0), 1e-15);
}

TEST(Rope, YarnFactorsApply) {
  RopeSpec rope{.dimensions = 64,
                .scaling = RopeScaling::Yarn,
                .factor = 4.0,
                .magnitude = 0.5,
                .original_context = 2048};
  EXPECT_NEAR(make_rope_table(rope, {}).magnitude, 0.5 * (1.0 + 0.1 * std::log(4.0)), 1e-15);
  rope.extrapolation = 0.0;  // no ramp: plain interpolation
  const RopeTable linear = make_rope_table(rope, {});
  EXPECT_DOUBLE_EQ(linear.frequencies[0], 0.25);
  EXPECT_DOUBLE_EQ(linear.magnitude, 0.5);
  rope.extrapolation = 1.0;
  rope.factor = 1.0;
  rope.magnitude = 1.0;
  EXPECT_EQ(make_rope_table(rope, {}).magnitude, 1.0);
}

}  // namespace
}  // namespace tenon
