// kv_write and attention of the reference backend against manually computed values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "program/operations.h"
#include "tests/backends/reference/reference_runner.h"

namespace tenon::testing_reference {
namespace {

using testing::ElementsAreArray;
using testing::FloatEq;

const float kLog3 = std::log(3.0f);

/// Sizes and tables of an attention-only program: a token's query, key and value are rows of three
/// tables.
struct AttentionCase {
  CacheGroup group = {1, 1, 1, 1, TENON_TYPE_F32, 2};
  AttentionOptions options = {.group = 0, .layer = 0, .heads = 1};
  std::vector<float> query;
  std::vector<float> key;
  std::vector<float> value;
  std::vector<float> sinks = {};
};

ReferenceRunner make_runner(const AttentionCase& c, uint32_t threads = 1) {
  ProgramBuilder b;
  const uint64_t vocab = c.key.size() / (c.group.kv_heads * c.group.key_dim);
  const auto table = [&](const char* name, const std::vector<float>& values) {
    return op::embed(b, b.weight(name, Format::F32, vocab, values.size() / vocab));
  };
  AttentionOptions options = c.options;
  options.group = b.cache_group(c.group);
  op::kv_write(b, table("k", c.key), table("v", c.value), options.group, 0);
  if (!c.sinks.empty()) options.sinks = b.weight("s", Format::F32, 1, c.sinks.size());
  const Slot logits = op::gather_rows(b, op::attention(b, table("q", c.query), options));
  return ReferenceRunner(std::move(b).finish(logits, {}),
                         {{"q", c.query}, {"k", c.key}, {"v", c.value}, {"s", c.sinks}}, threads);
}

/// Keys 0, log 3, 0 and values 8, 16, 32 under a query of 1: weights 1, 3, 1.
AttentionCase three_tokens() {
  AttentionCase c;
  c.query = {1, 1, 1};
  c.key = {0, kLog3, 0};
  c.value = {8, 16, 32};
  return c;
}

TEST(ReferenceAttention, CausalSoftmax) {
  expect_values(make_runner(three_tokens()).run({Part{{0, 1, 2}}}), {8, 14, (8 + 48 + 32) / 5.0});
}

TEST(ReferenceAttention, Scale) {
  AttentionCase c = three_tokens();
  c.options.scale = 2;  // the weight of token 1 becomes 9
  expect_values(make_runner(c).run({Part{{0, 1}}}), {8, (8 + 9 * 16) / 10.0});
}

TEST(ReferenceAttention, WindowForgetsEarlierPositions) {
  AttentionCase c = three_tokens();
  c.options.window = 2;
  expect_values(make_runner(c).run({Part{{0, 1, 2}}}), {8, 14, (48 + 32) / 4.0});
  c.options.window = 1;
  expect_values(make_runner(c).run({Part{{0, 1, 2}}}), {8, 16, 32});
}

TEST(ReferenceAttention, SinksTakeWeightAndGiveNothing) {
  AttentionCase c = three_tokens();
  c.sinks = {std::log(4.0f)};
  expect_values(make_runner(c).run({Part{{0, 1}}}), {8 / 5.0, (8 + 48) / 8.0});
}

TEST(ReferenceAttention, SoftCap) {
  AttentionCase c = three_tokens();
  c.options.soft_cap = 0.5f;
  const double weight = std::exp(0.5 * std::tanh(double{kLog3} / 0.5));
  expect_values(make_runner(c).run({Part{{0, 1}}}), {8, (8 + weight * 16) / (1 + weight)});
}

TEST(ReferenceAttention, LargeScoresDoNotOverflow) {
  AttentionCase c = three_tokens();
  c.options.scale = 1e6f;
  expect_values(make_runner(c).run({Part{{0, 1}}}), {8, 16});
}

TEST(ReferenceAttention, QueryHeadsShareKeyValueHeads) {
  AttentionCase c;
  c.group = {1, 2, 2, 3, TENON_TYPE_F32, 2};
  c.options.heads = 4;
  c.query = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1};
  c.key = {0, 0, 0, 0, kLog3, 0, 0, kLog3};
  c.value = {0, 4, 8, 100, 104, 108, 4, 8, 12, 104, 108, 112};
  // Per head: the first element of the key or the second; token 1 has weight 3 if its key is log 3.
  expect_values(make_runner(c).run({Part{{0, 1}}}),
                {0, 4, 8,  0, 4, 8,  100, 104, 108, 100, 104, 108,  //
                 3, 7, 11, 2, 6, 10, 102, 106, 110, 103, 107, 111});
}

TEST(ReferenceAttention, BlocksMayLieAnywhere) {
  AttentionCase c = three_tokens();
  ReferenceRunner runner = make_runner(c);
  Part part{{0, 1, 2}};
  part.blocks = {5, 0};
  expect_values(runner.run({part}), {8, 14, 17.6});
}

TEST(ReferenceAttention, SlicesAndNeighboursChangeNoBit) {
  AttentionCase c = three_tokens();
  c.key = {0.1f, 0.7f, -0.3f};
  c.value = {0.3f, 1.7f, -2.9f};
  const auto whole = make_runner(c).run({Part{{0, 1, 2, 1, 0}, 0, {0, 1, 2}}});
  for (const uint32_t threads : {1u, 2u, 5u}) {
    ReferenceRunner runner = make_runner(c, threads);
    std::vector<float> sliced = runner.run({Part{{0, 1, 2}, 0, {3, 1, 6}}});
    const auto rest =
        runner.run({Part{{2, 2}, 0, {7}}, Part{{1, 0}, 3, {3, 1, 6}}, Part{{1}, 0, {4}}});
    sliced.insert(sliced.end(), rest.begin() + 2, rest.begin() + 4);
    EXPECT_EQ(sliced, whole) << threads << " threads";
  }
}

TEST(ReferenceAttention, HalfCacheRoundsToHalf) {
  AttentionCase c = three_tokens();
  c.group.type = TENON_TYPE_F16;
  c.value = {1.0001f, 65520.0f, 0};  // rounds to 1, and exceeds the largest half
  ReferenceRunner runner = make_runner(c);
  expect_values(runner.run({Part{{0}}}), {1});
  EXPECT_TRUE(std::isinf(runner.run({Part{{1}}})[0]));
}

TEST(ReferenceAttention, AnEmptyStepIsNothing) {
  ReferenceRunner runner = make_runner(three_tokens());
  EXPECT_TRUE(runner.run({}).empty());
}

}  // namespace
}  // namespace tenon::testing_reference
