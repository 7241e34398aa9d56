// Self-test cases: one per family, and products that do not depend on the order of addition.
#include "backends/gpu/self_test.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "quant/formats.h"

namespace tenon::gpu {
namespace {

TEST(SelfTest, HasACaseForEachFamily) {
  Families seen;
  for (const FamilyTest& test : family_tests()) {
    EXPECT_FALSE(seen.has(test.family)) << test.name;
    seen = seen.with(test.family);
    const SelfTestCase given = test.make();
    EXPECT_TRUE(serves(test, given.program())) << test.name;
  }
  for (const FormatInfo& format : kFormats) {
    const std::optional<Family> family = units_family(format.id);
    if (!family) continue;
    EXPECT_TRUE(seen.has(*family)) << format.name;
    EXPECT_TRUE(seen.has(*warpgroups_family(format.id))) << format.name;
  }
  EXPECT_TRUE(seen.has(Family::SharedAttention));
}

TEST(SelfTest, ProductsRoundInNoOrderOfAddition) {
  int products = 0;
  for (const FamilyTest& test : family_tests()) {
    const SelfTestCase given = test.make();
    if (given.op.kind != TENON_OP_LINEAR || test.family >= Family::WarpgroupsF16) continue;
    ++products;
    SCOPED_TRACE(test.name);
    const tenon_slot& slot = given.slots[1];
    std::vector<float> weight(slot.rows * slot.columns);
    find_format(slot.type)->decode_row(given.values[1].data(), weight.data(), weight.size());
    std::vector<float> x(given.max_tokens() * slot.columns);
    ASSERT_EQ(given.values[0].size(), x.size() * sizeof(float));
    std::memcpy(x.data(), given.values[0].data(), given.values[0].size());
    bool any = false;
    for (uint64_t r = 0; r < slot.rows; ++r) {
      float forward = 0;
      float backward = 0;
      double exact = 0;
      for (uint64_t c = 0; c < slot.columns; ++c) {
        const uint64_t last = slot.columns - 1 - c;
        forward += weight[r * slot.columns + c] * x[c];
        backward += weight[r * slot.columns + last] * x[last];
        exact += double{weight[r * slot.columns + c]} * x[c];
      }
      EXPECT_EQ(forward, exact);
      EXPECT_EQ(backward, exact);
      any = any || exact != 0;
    }
    EXPECT_TRUE(any);
  }
  EXPECT_EQ(products, 4);
}

}  // namespace
}  // namespace tenon::gpu
