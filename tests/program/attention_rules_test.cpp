// Rules of kv_write and attention: matching groups, masks and biases, and steps that suit the
// masks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "program/operations.h"
#include "program/ops.h"

namespace tenon {
namespace {

/// A program of one attention: heads of 4 over a group, written before unless it holds another
/// text.
struct Case {
  CacheGroup group = {1, 1, 4, 4, TENON_TYPE_F32, 2};
  AttentionOptions options = {.heads = 2};
  std::vector<double> slopes = {};
  uint64_t buckets = 0;
  uint64_t bucket_heads = 2;
  bool value = true;
  bool write = true;
};

Program build(const Case& c) {
  ProgramBuilder b;
  const uint32_t group = b.cache_group(c.group);
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 4));
  if (c.write) op::kv_write(b, x, c.value ? x : kNoSlot, group, 0);
  AttentionOptions options = c.options;
  if (!c.slopes.empty()) options.bias_values = b.constant("slopes", c.slopes);
  if (c.buckets > 0) {
    options.bias_values = b.weight("table", Format::F32, c.buckets, c.bucket_heads);
  }
  const Slot q = op::embed(b, b.weight("q", Format::F32, 4, 8));
  return std::move(b).finish(op::gather_rows(b, op::attention(b, q, options)), {.max_tokens = 8});
}

void refused(const Case& c, const char* text) {
  EXPECT_THAT([&] { (void)build(c); },
              testing::Throws<Error>(testing::Property(&Error::what, testing::HasSubstr(text))));
}

Case latent() {
  Case c;
  c.group.kind = TENON_CACHE_LATENT;
  c.group.value_dim = 3;
  c.value = false;
  return c;
}

Case cross() {
  Case c;
  c.group.kind = TENON_CACHE_CROSS;
  c.options.mask = TENON_MASK_CROSS;
  c.write = false;
  return c;
}

TEST(AttentionRules, ALatentRowIsAKeyOfOneHead) {
  const Program program = build(latent());
  EXPECT_EQ(program.slots()[program.view().logits].columns, 6u);
  Case c = latent();
  c.value = true;
  refused(c, "a part of its keys");
  c = latent();
  c.group.value_dim = 5;
  refused(c, "not latent");
  c = latent();
  c.group.kv_heads = 2;
  c.group.key_dim = 2;
  c.group.value_dim = 2;
  c.options.heads = 4;
  refused(c, "not latent");
  c = Case{};
  c.value = false;
  refused(c, "the value is missing");
}

TEST(AttentionRules, MasksGoWithGroups) {
  Case c;
  c.options.mask = TENON_MASK_CROSS + 1;
  refused(c, "unknown mask 4");
  c.options.mask = TENON_MASK_CHUNKED;
  refused(c, "chunks of no position");
  c.options.window = 5;
  EXPECT_NO_THROW(build(c));
  c.group.window = 4;
  refused(c, "looks back 5 positions, its cache group keeps 4");
  c.options.window = 4;
  EXPECT_NO_THROW(build(c));
  c.options.mask = TENON_MASK_SYMMETRIC;
  refused(c, "keeps a window");
  c.group.window = 0;
  EXPECT_NO_THROW(build(c));
}

TEST(AttentionRules, AnotherTextIsReadOrWritten) {
  EXPECT_NO_THROW(build(cross()));
  Case c = cross();
  c.write = true;
  refused(c, "of another text, but this program writes it");
  c = cross();
  c.options.mask = TENON_MASK_CAUSAL;
  refused(c, "a cross mask goes with");
  c = cross();
  c.options.window = 3;
  refused(c, "no window");
  c = Case{};
  c.options.mask = TENON_MASK_CROSS;
  refused(c, "a cross mask goes with");
}

TEST(AttentionRules, Biases) {
  Case c;
  c.options.bias = TENON_BIAS_RELATIVE + 1;
  refused(c, "unknown bias 3");
  c.options.bias = TENON_BIAS_ALIBI;
  refused(c, "a bias has an input");
  c.slopes = {0.5, 0.25};
  EXPECT_NO_THROW(build(c));
  c.options.bias = TENON_BIAS_NONE;
  refused(c, "a bias has an input");
  c.options.bias = TENON_BIAS_RELATIVE;
  refused(c, "buckets of 2 f32");
  c.options.bias = TENON_BIAS_ALIBI;
  c.slopes = {0.5};
  refused(c, "expected [1, 2]");
  c = cross();
  c.options.bias = TENON_BIAS_ALIBI;
  c.slopes = {0.5, 0.25};
  refused(c, "none to another text");
}

TEST(AttentionRules, RelativeBuckets) {
  Case c;
  c.options.bias = TENON_BIAS_RELATIVE;
  c.options.max_distance = 17;
  c.buckets = 32;
  EXPECT_NO_THROW(build(c));
  c.options.max_distance = 16;
  refused(c, "max_distance 16 is outside 17");
  c.options.two_sided = true;
  EXPECT_NO_THROW(build(c));
  c.buckets = 5;
  refused(c, "share 2 sides evenly");
  c.buckets = 2;
  refused(c, "too few");
  c.options.two_sided = false;
  EXPECT_NO_THROW(build(c));
  c.options.max_distance = kMaxBiasDistance + 1;
  refused(c, "max_distance");
  c.options.max_distance = 9;
  c.bucket_heads = 3;
  refused(c, "buckets of 2 f32");
  c.bucket_heads = 2;
  c.buckets = kMaxBuckets + 2;
  refused(c, "at most 65536 buckets");
}

TEST(AttentionRules, PositionsThatAreSeenCostOnlyInTheOwnSequence) {
  const auto seen = [](const Program& program) {
    const auto index = static_cast<uint32_t>(program.ops().size() - 2);
    return op_cost(op_view(program.view(), index)).seen[0].multiplications;
  };
  EXPECT_EQ(seen(build(Case{})), 2 * (4 + 4));
  EXPECT_EQ(seen(build(latent())), 2 * (4 + 3));
  EXPECT_EQ(seen(build(cross())), 0u);
}

// ---- Steps --------------------------------------------------------------------------------------

/// Verifies three tokens of a sequence, with `cross_positions` in a group of blocks of two.
void verify(const Program& program, uint32_t past, uint32_t cross_positions, uint32_t num_blocks) {
  const int32_t numbers[3] = {0, 1, 2};
  const uint32_t rows[1] = {0};
  std::vector<uint32_t> table(num_blocks);
  for (uint32_t b = 0; b < num_blocks; ++b) table[b] = b;
  table.resize(8, TENON_NO_BLOCK);
  const uint32_t* tables[1] = {table.data()};
  const tenon_step_sequence sequence{0, 3, past, cross_positions, tables};
  tenon_buffer* slabs[1] = {nullptr};
  const tenon_cache_pool pool{slabs, 1, 8};
  float logits[8] = {};
  const tenon_binding binding{program.view().logits, 0, logits};
  tenon_step step{};
  step.struct_size = sizeof(step);
  step.num_tokens = 3;
  step.num_outputs = 1;
  step.num_sequences = 1;
  step.sequence_size = sizeof(sequence);
  step.num_pools = 1;
  step.tokens = step.positions = numbers;
  step.sequences = &sequence;
  step.pools = &pool;
  step.output_rows = rows;
  step.bindings = &binding;
  step.num_bindings = 1;
  step.binding_size = sizeof(binding);
  verify_step(program.view(), step);
}

template <typename F>
void refused_step(F&& call, const char* text) {
  EXPECT_THAT(call,
              testing::Throws<Error>(testing::Property(&Error::what, testing::HasSubstr(text))));
}

TEST(AttentionRules, ASymmetricSequenceIsWholeInItsStep) {
  Case c;
  c.options.mask = TENON_MASK_SYMMETRIC;
  const Program program = build(c);
  EXPECT_NO_THROW(verify(program, 0, 0, 2));
  refused_step([&] { verify(program, 1, 0, 2); }, "is not whole");
}

TEST(AttentionRules, ACrossTableHasTheBlocksOfTheOtherText) {
  const Program program = build(cross());
  EXPECT_NO_THROW(verify(program, 100, 5, 3));
  refused_step([&] { verify(program, 100, 7, 3); }, "block 3 of cache group 0 is missing");
  refused_step([&] { verify(program, 0, 0, 3); }, "no cross_positions");
}

TEST(AttentionRules, AnEncoderHasItsOwnPositionsInACrossGroup) {
  ProgramBuilder b;
  const uint32_t group = b.cache_group(cross().group);
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 4));
  op::kv_write(b, x, x, group, 0);
  const Program program = std::move(b).finish(op::gather_rows(b, x), {.max_tokens = 8});
  EXPECT_NO_THROW(verify(program, 2, 0, 3));
  refused_step([&] { verify(program, 2, 0, 2); }, "block 2 of cache group 0 is missing");
}

}  // namespace
}  // namespace tenon
