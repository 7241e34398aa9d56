#include "base/checked.h"

#include "tests/base/expect_error.h"

namespace tenon {
namespace {

using testing::HasSubstr;
constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(Checked, AddRefusesWrap) {
  EXPECT_EQ(checked_add(kMax - 1, 1, "sum"), kMax);
  expect_error(Code::Format, HasSubstr("sum: 18446744073709551615 + 1 overflows"),
               [] { checked_add(kMax, 1, "sum"); });
}

TEST(Checked, MulRefusesWrap) {
  EXPECT_EQ(checked_mul(1ull << 32, (1ull << 32) - 1, "size"), kMax - (1ull << 32) + 1);
  EXPECT_EQ(checked_mul(0, kMax, "size"), 0u);
  expect_error(Code::Limit, HasSubstr("size"),
               [] { checked_mul(1ull << 32, 1ull << 32, "size", Code::Limit); });
}

TEST(Checked, AlignUpRefusesWrapInsteadOfGivingZero) {
  EXPECT_EQ(checked_align_up(0, 32, "offset"), 0u);
  EXPECT_EQ(checked_align_up(1, 32, "offset"), 32u);
  EXPECT_EQ(checked_align_up(32, 32, "offset"), 32u);
  expect_error(Code::Format, HasSubstr("offset"), [] { checked_align_up(kMax - 3, 32, "offset"); });
}

TEST(Checked, CastRefusesWhatDoesNotFit) {
  EXPECT_EQ(checked_cast<int8_t>(int64_t{-128}, "n"), -128);
  expect_error(Code::Format, HasSubstr("n: -1 is outside 0..4294967295"),
               [] { checked_cast<uint32_t>(-1, "n"); });
  expect_error(Code::Format, HasSubstr("128 is outside -128..127"),
               [] { checked_cast<int8_t>(128u, "n"); });
}

}  // namespace
}  // namespace tenon
