// Philox4x32-10 against its authors' known answers (Random123, kat_vectors).
#include "abi/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace tenon {
namespace {

using Words = std::array<uint32_t, 4>;

TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformStaysBelowOneAndUsesAllOfKeyAndPosition) {
  double sum = 0.0;
  for (uint64_t position = 0; position < 10000; ++position) {
    const double u = uniform_at(7, position);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
  const std::set<double> different = {uniform_at(0, 0),          uniform_at(1, 0),
                                      uniform_at(1ull << 32, 0), uniform_at(0, 1),
                                      uniform_at(0, 1ull << 32), uniform_at(UINT64_MAX, 0),
                                      uniform_at(0, UINT64_MAX)};
  EXPECT_EQ(different.size(), 7u);
}

}  // namespace
}  // namespace tenon
