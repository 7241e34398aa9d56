// Integer weights of a draw against exp, and shares against their totals.
#include "backends/gpu/draw_arithmetic.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "backends/gpu/stage_parameters.h"

namespace tenon::gpu {
namespace {

uint64_t natural_weight(float distance) {
  return draw_weight(std::bit_cast<uint32_t>(distance), kNaturalRate, int{kNaturalShift});
}

TEST(DrawArithmetic, WeightsAreExpOfTheDistance) {
  for (float distance = 1e-7F; distance < 40; distance *= 1.013F) {
    const double expected = std::ldexp(std::exp(-double{distance}), 40);
    EXPECT_NEAR(static_cast<double>(natural_weight(distance)), expected, 1 + expected * 1e-8)
        << distance;
  }
}

TEST(DrawArithmetic, WeightsEndAtOneAndAtNothing) {
  EXPECT_EQ(natural_weight(0.0F), uint64_t{1} << 40);
  EXPECT_EQ(natural_weight(-0.0F), uint64_t{1} << 40);
  EXPECT_EQ(natural_weight(1e-30F), uint64_t{1} << 40);
  EXPECT_EQ(natural_weight(29.0F), 0u);
  EXPECT_EQ(natural_weight(INFINITY), 0u);
}

TEST(DrawArithmetic, KeysAreInTheOrderOfLogits) {
  const auto key = [](float x) { return draw_key(std::bit_cast<uint32_t>(x)); };
  EXPECT_LT(key(-INFINITY), key(-3.0F));
  EXPECT_LT(key(-3.0F), key(-1e-30F));
  EXPECT_LT(key(-1e-30F), key(0.0F));
  EXPECT_EQ(key(-0.0F), key(0.0F));
  EXPECT_LT(key(0.0F), key(2.0F));
}

TEST(DrawArithmetic, GoalsAreRoundedUp) {
  const uint64_t half = uint64_t{1} << 63;
  EXPECT_EQ(draw_goal(10, half), 5u);
  EXPECT_EQ(draw_goal(11, half), 6u);
  EXPECT_EQ(draw_goal(11, 0), 1u);
  EXPECT_EQ(draw_product(~uint64_t{0}, ~uint64_t{0}), ~uint64_t{0} - 1);
}

}  // namespace
}  // namespace tenon::gpu
