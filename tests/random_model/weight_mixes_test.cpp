// Mixes of weight formats: the format of each tensor per layer.
#include "random_model/weight_mixes.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(WeightMixes, FormatsFollowTheRulesOfTheMix) {
  const WeightMix medium = find_weight_mix("Q4_K_M");
  EXPECT_EQ(layer_format(medium, "ffn_down", 0, 16, 8192), Format::Q6_K);
  EXPECT_EQ(layer_format(medium, "ffn_down", 2, 16, 8192), Format::Q4_K);
  EXPECT_EQ(layer_format(medium, "attn_v", 4, 16, 2048), Format::Q6_K);
  EXPECT_EQ(layer_format(medium, "attn_v", 15, 16, 2048), Format::Q6_K);
  EXPECT_EQ(layer_format(medium, "attn_q", 0, 16, 2048), Format::Q4_K);
  EXPECT_EQ(output_format(medium, 2048), Format::Q6_K);
  EXPECT_EQ(output_format(medium, 896), Format::Q8_0);
  EXPECT_EQ(layer_format(medium, "attn_q", 0, 16, 896), Format::Q5_0);
  EXPECT_EQ(layer_format(find_weight_mix("iq3_s"), "attn_q", 0, 16, 896), Format::IQ4_NL);
  EXPECT_EQ(layer_format(find_weight_mix("tq1_0"), "attn_q", 0, 16, 100), Format::F16);
  EXPECT_EQ(output_format(find_weight_mix("bf16"), 2048), Format::BF16);
  EXPECT_EQ(output_format(find_weight_mix("iq1_s"), 2048), Format::Q5_K);
}

}  // namespace
}  // namespace tenon
