// Whole small models near the reference, and batch invariance of the CPU backend and the reference:
// bits do not depend on slices, neighbours or threads.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/conformance/mini_model.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

struct Geometry {
  uint32_t heads, kv_heads, key_dim, value_dim;
};
// Real model sizes, odd ratios, one KV head, keys unlike values. In the last geometry, head outputs
// do not fill blocks of 32.
constexpr Geometry kGeometries[] = {{4, 2, 32, 32}, {5, 1, 64, 64}, {6, 3, 48, 48}, {4, 2, 80, 80},
                                    {1, 1, 96, 96}, {4, 2, 40, 96}, {3, 3, 64, 32}, {6, 6, 48, 48}};

void set(MiniModel& model, const Geometry& g) {
  model.heads = g.heads;
  model.kv_heads = g.kv_heads;
  model.key_dim = g.key_dim;
  model.value_dim = g.value_dim;
}

/// A prompt, single tokens, and a neighbour with another past.
std::vector<StepPlan> conversation(uint32_t vocab) {
  return {{{{0, tokens(19, vocab)}}},
          {{{0, tokens(1, vocab, 5)}}},
          {{{1, tokens(33, vocab, 7)}, {0, tokens(2, vocab, 30)}}},
          {{{0, tokens(1, vocab)}, {1, tokens(1, vocab, 1)}, {2, tokens(3, vocab, 2)}}}};
}

void check(const MiniModel& model, double tolerance) {
  expect_like_reference(build(model), conversation(model.vocab), tolerance);
}

TEST(Model, InFloat) {
  for (const Geometry& geometry : kGeometries) {
    for (const bool variant : {false, true}) {
      MiniModel model;
      set(model, geometry);
      model.biases = model.head_norms = model.up_first = variant;
      model.rope_style = variant ? TENON_ROPE_HALVES : TENON_ROPE_ADJACENT;
      model.rope_pairs = variant ? 8 : 0;
      model.soft_cap = variant ? 3.0f : 0.0f;
      model.activation = variant ? TENON_ACTIVATION_GELU_TANH : TENON_ACTIVATION_SILU;
      model.window = variant ? 9 : 0;
      model.block_tokens = variant ? 16 : 32;
      check(model, float_tolerance());
    }
  }
}

TEST(Model, OfExpertsInFloat) {
  for (const uint32_t experts : {2, 5, 32}) {
    MiniModel model;
    model.experts = experts;
    model.feed_forward = experts == 5 ? 70 : 96;
    check(model, float_tolerance());
  }
}

TEST(Model, WithAHalfPrecisionCache) {
  for (const Geometry& geometry : kGeometries) {
    MiniModel model;
    set(model, geometry);
    model.cache_type = TENON_TYPE_F16;
    check(model, half_cache_tolerance());
  }
}

TEST(Model, Quantised) {
  for (const Geometry& geometry : kGeometries) {
    for (const Format format : {Format::Q8_0, Format::Q4_1, Format::Q5_0}) {
      MiniModel model;
      set(model, geometry);
      model.formats = {format};
      model.biases = model.up_first = format == Format::Q4_1;
      model.head_norms = format == Format::Q5_0;
      check(model, model_tolerance());
    }
  }
}

/// All layouts of a matrix in one model: float, integer, decoded.
MiniModel mixed() {
  MiniModel model;
  model.width = 256;
  model.heads = 4;
  model.kv_heads = 2;
  model.key_dim = model.value_dim = 64;
  model.feed_forward = 256;
  model.biases = model.head_norms = true;
  model.cache_type = TENON_TYPE_F16;
  model.window = 20;
  model.layers = 3;
  model.formats = {Format::Q6_K,   Format::Q4_K, Format::F16,  Format::Q5_K,
                   Format::IQ4_NL, Format::Q8_0, Format::BF16, Format::Q2_K,
                   Format::Q4_0,   Format::Q6_K, Format::F32};
  return model;
}

TEST(Model, OfMixedFormats) { check(mixed(), model_tolerance()); }

// ---- Equal bits ---------------------------------------------------------------------------------

#define TENON_NEEDS_BATCH_INVARIANCE() \
  if (!is_batch_invariant()) GTEST_SKIP() << "the device promises no bits"

constexpr uint32_t kLength = 41;

/// Logits [length, vocab] of sequence 0 in slices of `slice` tokens.
std::vector<float> in_slices(const Program& program, uint32_t slice,
                             const RunnerOptions& options = {}, uint32_t length = kLength) {
  const uint32_t vocab = static_cast<uint32_t>(program.slots()[program.view().logits].columns);
  Runner runner(target(), program, options);
  std::vector<float> all;
  for (uint32_t first = 0; first < length; first += slice) {
    const uint32_t count = std::min(slice, length - first);
    const std::vector<float> part = runner.run({{{0, tokens(count, vocab, first)}}});
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// Logits of sequence 0 beside two others with their own pasts, in slices of 17.
std::vector<float> beside_others(const Program& program) {
  const uint32_t vocab = static_cast<uint32_t>(program.slots()[program.view().logits].columns);
  Runner runner(target(), program);
  runner.run({{{1, tokens(23, vocab, 11)}, {2, tokens(1, vocab, 60)}}});
  std::vector<float> all;
  for (uint32_t first = 0; first < kLength; first += 17) {
    const uint32_t count = std::min(17u, kLength - first);
    StepPlan step{
        {{2, tokens(5, vocab, 8)}, {0, tokens(count, vocab, first)}, {1, tokens(1, vocab, 33)}}};
    step.rows.emplace();
    for (uint32_t i = 0; i < count; ++i) step.rows->push_back(5 + i);
    const std::vector<float> part = runner.run(step);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// A host that runs a phase's tasks one by one, last first.
Executor backwards() {
  Executor executor;
  executor.concurrency = 4;
  executor.run = [](void*, uint32_t num_tasks, void (*task)(void*, uint32_t), void* arg) {
    for (uint32_t i = num_tasks; i-- > 0;) task(arg, i);
  };
  return executor;
}

std::vector<MiniModel> models_of_bits() {
  MiniModel f32;
  MiniModel odd;
  set(odd, {6, 6, 48, 48});
  odd.formats = {Format::Q5_1};
  odd.up_first = true;
  MiniModel int8 = odd;
  int8.cache_type = TENON_CACHE_INT8;
  MiniModel q4 = odd;
  q4.cache_type = TENON_CACHE_Q4;
  // Expert rows that are not whole panels; then all matrix layouts.
  MiniModel experts;
  experts.experts = 5;
  experts.feed_forward = 70;
  MiniModel mixed_experts = mixed();
  mixed_experts.experts = 4;
  mixed_experts.layers = 1;
  return {f32, odd, mixed(), int8, q4, experts, mixed_experts};
}

class SameBits : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    program_ = std::make_unique<Program>(build(models_of_bits()[GetParam()]));
  }
  void expect_same(const std::vector<float>& logits) const {
    const std::vector<float> whole = in_slices(*program_, kLength);
    ASSERT_EQ(logits.size(), whole.size());
    EXPECT_EQ(std::memcmp(logits.data(), whole.data(), whole.size() * sizeof(float)), 0);
  }
  std::unique_ptr<Program> program_;
};

TEST_P(SameBits, InSlices) {
  TENON_NEEDS_BATCH_INVARIANCE();
  for (const uint32_t slice : {1, 7, 16, 32}) {
    SCOPED_TRACE(slice);
    expect_same(in_slices(*program_, slice));
  }
}

TEST_P(SameBits, BesideOtherSequences) {
  TENON_NEEDS_BATCH_INVARIANCE();
  expect_same(beside_others(*program_));
}

TEST_P(SameBits, OnAnyNumberOfThreads) {
  TENON_NEEDS_BATCH_INVARIANCE();
  for (const uint32_t threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    expect_same(in_slices(*program_, kLength, {.host = {.threads = threads}}));
    expect_same(in_slices(*program_, 7, {.host = {.threads = threads}}));
  }
}

TEST_P(SameBits, OnAHostThatRunsTasksInTurn) {
  TENON_NEEDS_BATCH_INVARIANCE();
  const Executor executor = backwards();
  expect_same(in_slices(*program_, kLength, {.host = {.executor = &executor}}));
}

TEST_P(SameBits, WhateverRowsAreWanted) {
  TENON_NEEDS_BATCH_INVARIANCE();
  const MiniModel model = models_of_bits()[GetParam()];
  Runner all(target(), *program_);
  Runner some(target(), *program_);
  const std::vector<float> logits = all.run(one_sequence(40, model.vocab));
  StepPlan step = one_sequence(40, model.vocab);
  step.rows = {39, 3, 3};
  const std::vector<float> wanted = some.run(step);
  ASSERT_EQ(wanted.size(), 3 * model.vocab);
  for (size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(
        std::memcmp(wanted.data() + r * model.vocab, logits.data() + (*step.rows)[r] * model.vocab,
                    model.vocab * sizeof(float)),
        0);
  }
}

// Longer than two attention spans, with more rows than one pass of activations.
constexpr uint32_t kLong = 690;

MiniModel long_model(uint32_t cache_type) {
  MiniModel model;
  model.layers = 1;
  model.feed_forward = 416;
  model.max_tokens = kLong;
  model.formats = {Format::F32, Format::Q8_0};
  model.cache_type = cache_type;
  return model;
}

TEST(SameBitsOfALongSequence, InSlices) {
  TENON_NEEDS_BATCH_INVARIANCE();
  for (const uint32_t type : {TENON_TYPE_F32, TENON_TYPE_F16, TENON_CACHE_INT8, TENON_CACHE_Q4}) {
    SCOPED_TRACE(type);
    const Program program = build(long_model(type));
    const RunnerOptions options{.host = {}, .max_positions = kLong};
    const std::vector<float> whole = in_slices(program, kLong, options, kLong);
    EXPECT_EQ(in_slices(program, 257, options, kLong), whole);
    EXPECT_EQ(in_slices(program, 30, options, kLong), whole);
  }
}

TEST(SameBitsOfALongSequence, WhenItsPositionsAreCutBetweenThreads) {
  TENON_NEEDS_BATCH_INVARIANCE();
  for (const uint32_t type : {TENON_TYPE_F16, TENON_CACHE_INT8, TENON_CACHE_Q4}) {
    SCOPED_TRACE(type);
    const Program program = build(long_model(type));
    const uint32_t vocab = static_cast<uint32_t>(program.slots()[program.view().logits].columns);
    const std::vector<float> whole =
        in_slices(program, kLong, {.host = {.threads = 1}, .max_positions = kLong}, kLong);
    for (const uint32_t threads : {1, 2, 5}) {
      SCOPED_TRACE(threads);
      // One or few tokens after a long past: less work than threads, apart from the positions.
      Runner runner(target(), program, {.host = {.threads = threads}, .max_positions = kLong + 64});
      runner.run({{{0, tokens(kLong - 8, vocab)}, {1, tokens(1, vocab)}}});
      uint32_t at = kLong - 8;
      for (const uint32_t count : {1, 1, 5, 1}) {
        StepPlan step{{{0, tokens(count, vocab, at)}, {1, tokens(1, vocab, at)}}};
        step.rows = {count - 1};
        at += count;
        const std::vector<float> logits = runner.run(step);
        ASSERT_EQ(logits.size(), vocab);
        EXPECT_EQ(std::memcmp(logits.data(), whole.data() + uint64_t{at - 1} * vocab,
                              vocab * sizeof(float)),
                  0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SameBits, testing::Range<size_t>(0, 7));

}  // namespace
}  // namespace tenon::conformance
