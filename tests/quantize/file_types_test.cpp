// File types: the format of each tensor by layer, model and importance matrix.
#include "quantize/file_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace tenon {
namespace {

using testing::HasSubstr;

Format format_of(const char* type, std::string_view name, uint32_t layer,
                 const MixFacts& facts = {}, uint64_t columns = 2048) {
  return layer_format(find_file_type(type),
                      {.name = name, .layer = layer, .layers = 16, .columns = columns}, facts);
}

TEST(FileTypes, FormatsFollowTheRulesOfTheType) {
  EXPECT_EQ(format_of("Q4_K_M", "ffn_down", 0), Format::Q6_K);
  EXPECT_EQ(format_of("Q4_K_M", "ffn_down", 2), Format::Q4_K);
  EXPECT_EQ(format_of("Q4_K_M", "attn_v", 4), Format::Q6_K);
  EXPECT_EQ(format_of("Q4_K_M", "attn_qkv", 4), Format::Q6_K);
  EXPECT_EQ(format_of("Q4_K_M", "attn_v", 15), Format::Q6_K);
  EXPECT_EQ(format_of("Q4_K_M", "attn_q", 0), Format::Q4_K);
  EXPECT_EQ(format_of("Q3_K_M", "attn_v", 1), Format::Q5_K);
  EXPECT_EQ(format_of("Q3_K_M", "attn_v", 2), Format::Q4_K);
  EXPECT_EQ(format_of("Q3_K_M", "ffn_down", 0), Format::Q5_K);
  EXPECT_EQ(format_of("Q3_K_M", "ffn_down", 1), Format::Q4_K);
  EXPECT_EQ(format_of("IQ3_XS", "ffn_up", 1), Format::IQ3_S);
  EXPECT_EQ(format_of("IQ3_XS", "ffn_up", 2), Format::IQ3_XXS);
  EXPECT_EQ(format_of("IQ3_XS", "ffn_up", 14), Format::IQ3_S);
  EXPECT_EQ(format_of("IQ2_M", "ffn_down", 1), Format::IQ3_S);
  EXPECT_EQ(format_of("IQ2_M", "ffn_down", 2), Format::IQ2_S);
  EXPECT_EQ(format_of("IQ2_S", "attn_k", 0), Format::IQ2_XS);
  EXPECT_EQ(format_of("F16", "attn_v", 0), Format::F16);
}

TEST(FileTypes, RulesLookAtTheModel) {
  const MixFacts shared{.heads_per_kv_head = 4};
  const MixFacts experts{.experts = 8};
  const MixFacts important{.has_importance = true};
  const MixFacts large{.heads_per_kv_head = 8, .is_large_llama = true};
  EXPECT_EQ(format_of("Q2_K", "attn_v", 3), Format::Q3_K);
  EXPECT_EQ(format_of("Q2_K", "attn_v", 3, shared), Format::Q4_K);
  EXPECT_EQ(format_of("Q2_K", "attn_v", 3, large), Format::Q5_K);
  EXPECT_EQ(format_of("Q4_K_M", "attn_v", 0, large), Format::Q6_K);
  EXPECT_EQ(format_of("Q4_0", "attn_v", 3, experts), Format::Q8_0);
  EXPECT_EQ(format_of("IQ1_S", "attn_k", 3, experts), Format::Q4_K);
  EXPECT_EQ(format_of("Q4_K_M", "attn_output", 3, experts), Format::Q5_K);
  EXPECT_EQ(format_of("Q3_K_L", "attn_output", 3, experts), Format::Q3_K);
  EXPECT_EQ(format_of("Q3_K_L", "attn_output", 3), Format::Q5_K);
  EXPECT_EQ(format_of("Q4_0", "ffn_down", 1), Format::Q4_0);
  EXPECT_EQ(format_of("Q4_0", "ffn_down", 1, important), Format::Q4_1);
  EXPECT_EQ(format_of("IQ3_XXS", "attn_v", 1), Format::IQ3_S);
  EXPECT_EQ(format_of("IQ3_XXS", "attn_v", 1, important), Format::IQ3_XXS);
  EXPECT_EQ(format_of("IQ4_XS", "ffn_down", 1), Format::Q5_K);
  EXPECT_EQ(format_of("IQ4_XS", "ffn_down", 1, important), Format::IQ4_XS);
}

TEST(FileTypes, StacksOfExpertsAreMxfp4AndTheRestQ8) {
  const FileType& type = find_file_type("MXFP4_MOE");
  EXPECT_EQ(layer_format(type, {.name = "ffn_up", .is_stack = true, .columns = 64}), Format::MXFP4);
  EXPECT_EQ(layer_format(type, {.name = "ffn_up", .columns = 64}), Format::Q8_0);
  EXPECT_EQ(output_format(type, 64), Format::Q8_0);
  EXPECT_EQ(embedding_format(type, 64), Format::Q8_0);
}

TEST(FileTypes, RowsThatBlocksDoNotFitGetSmallerBlocks) {
  EXPECT_EQ(format_of("Q4_K_S", "attn_q", 0, {}, 896), Format::Q5_0);
  EXPECT_EQ(format_of("IQ3_S", "attn_q", 0, {}, 896), Format::IQ4_NL);
  EXPECT_EQ(format_of("TQ1_0", "attn_q", 0, {}, 100), Format::F16);
  EXPECT_EQ(output_format(find_file_type("Q4_K_M"), 896), Format::Q8_0);
}

TEST(FileTypes, OutputAndEmbeddingHaveFormatsOfTheirOwn) {
  EXPECT_EQ(output_format(find_file_type("Q4_K_M"), 2048), Format::Q6_K);
  EXPECT_EQ(output_format(find_file_type("Q4_0"), 2048), Format::Q6_K);
  EXPECT_EQ(output_format(find_file_type("Q8_0"), 2048), Format::Q8_0);
  EXPECT_EQ(output_format(find_file_type("IQ2_M"), 2048), Format::Q5_K);
  EXPECT_EQ(output_format(find_file_type("IQ3_M"), 2048), Format::Q6_K);
  EXPECT_EQ(output_format(find_file_type("BF16"), 2048), Format::BF16);
  EXPECT_EQ(output_format(pure_type(*find_format("iq1_s")), 2048), Format::Q5_K);
  EXPECT_EQ(output_format(find_file_type("Q4_K_M"), 2048, {.is_falcon = true}), Format::Q8_0);
  EXPECT_EQ(embedding_format(find_file_type("Q4_K_M"), 2048), Format::Q4_K);
  EXPECT_EQ(embedding_format(find_file_type("IQ2_XS"), 2048), Format::Q2_K);
  EXPECT_EQ(embedding_format(find_file_type("IQ2_S"), 2048), Format::IQ3_S);
  EXPECT_EQ(embedding_format(find_file_type("TQ2_0"), 2048), Format::Q4_K);
}

TEST(FileTypes, AreFoundByName) {
  EXPECT_STREQ(find_file_type("q4_k_m").name, "Q4_K_M");
  EXPECT_STREQ(find_file_type("Q5_K").name, "Q5_K_M");
  EXPECT_STREQ(find_file_type("q3_k").name, "Q3_K_M");
  EXPECT_STREQ(find_file_type("Q2_K").name, "Q2_K");
  expect_error(Code::Argument, HasSubstr("no file type \"Q4_KM\"; the nearest name is \"Q4_K_M\""),
               [] { (void)find_file_type("Q4_KM"); });
  expect_error(Code::Argument, HasSubstr("no weight format \"q4_9\""),
               [] { (void)find_weight_format("q4_9"); });
}

TEST(FileTypes, NamesOfTensorsAreParsed) {
  EXPECT_EQ(layer_tensor_name("blk.12.ffn_down_exps.weight").layer, 12u);
  EXPECT_EQ(layer_tensor_name("blk.12.ffn_down_exps.weight").name, "ffn_down");
  EXPECT_EQ(layer_tensor_name("blk.0.ffn_down_shexp.weight").name, "ffn_down");
  for (const char* name : {"output.weight", "blk.", "blk.x.y", "blk.7", "blk.99999999999.a"}) {
    EXPECT_EQ(layer_tensor_name(name).name, "") << name;
  }
}

}  // namespace
}  // namespace tenon
