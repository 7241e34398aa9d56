// Products divided into panels, tiles and chunks, against the undivided reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backends/blas/blas_entry.h"
#include "program/operations.h"
#include "tests/backends/reference/reference_runner.h"

namespace tenon::testing_blas {
namespace {

using testing_reference::Part;
using testing_reference::ReferenceRunner;
using testing_reference::Weights;
using BlasRunner = testing_reference::BackendRunner<tenon_blas_backend_entry>;

std::vector<float> random_values(uint64_t count, uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<int32_t> tokens(uint32_t count, uint32_t vocab) {
  std::vector<int32_t> all(count);
  for (uint32_t i = 0; i < count; ++i) all[i] = static_cast<int32_t>(i * 7 % vocab);
  return all;
}

/// RMS of the difference of two results, relative to the second.
double distance(const std::vector<float>& actual, const std::vector<float>& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double difference = 0;
  double size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(double{actual[i]} - expected[i], 2);
    size += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(difference / size);
}

constexpr double kTolerance = 1e-5;  // conformance, TENON_PRECISION_F32

/// Finishes a program with the results x.
Program finish(ProgramBuilder& b, Slot x) {
  return std::move(b).finish(op::gather_rows(b, x), {.max_tokens = 512, .max_outputs = 512});
}

/// Runs steps on both backends, here with several thread counts, which change no bit. A runner
/// takes its program, so `make` makes one per runner.
template <typename Make>
void expect_like_reference(const Make& make, const Weights& weights,
                           const std::vector<std::vector<Part>>& steps) {
  BlasRunner alone(make(), weights, 1);
  BlasRunner few(make(), weights, 3);
  BlasRunner many(make(), weights, 80);
  ReferenceRunner expected(make(), weights);
  for (const std::vector<Part>& step : steps) {
    const std::vector<float> result = alone.run(step);
    EXPECT_LE(distance(result, expected.run(step)), kTolerance);
    EXPECT_EQ(few.run(step), result);
    EXPECT_EQ(many.run(step), result);
  }
}

constexpr uint32_t kVocab = 64;
constexpr uint32_t kWidth = 96;

// More rows than a panel, for one row of x and for many, decoded or not; a thread's last panel may
// be short.
TEST(BlasProducts, OfEveryPanel) {
  constexpr uint32_t kRows = 1100;
  for (const Format format : {Format::F32, Format::F16, Format::BF16, Format::Q8_0}) {
    const auto make = [&] {
      ProgramBuilder b;
      const Slot x = op::embed(b, b.weight("x", Format::F32, kVocab, kWidth));
      const Slot bias = b.weight("b", Format::F32, 1, kRows);
      return finish(b, op::linear(b, x, b.weight("w", format, kRows, kWidth), bias));
    };
    const Weights weights = {{"x", random_values(kVocab * kWidth, 1)},
                             {"w", random_values(kRows * kWidth, 2, 0.1f)},
                             {"b", random_values(kRows, 3)}};
    expect_like_reference(make, weights, {{{tokens(1, kVocab)}}, {{tokens(37, kVocab)}}});
  }
}

TEST(BlasProducts, OfEveryPanelOfHeads) {
  constexpr uint32_t kHeads = 3;
  constexpr uint32_t kRows = 700;  // per head
  const auto make = [&] {
    ProgramBuilder b;
    const Slot x = op::embed(b, b.weight("x", Format::F32, kVocab, kHeads * 32));
    return finish(b,
                  op::linear_heads(b, x, b.weight("w", Format::F16, kHeads * kRows, 32), kHeads));
  };
  const Weights weights = {{"x", random_values(kVocab * kHeads * 32, 1)},
                           {"w", random_values(kHeads * kRows * 32, 2, 0.2f)}};
  expect_like_reference(make, weights, {{{tokens(1, kVocab)}}, {{tokens(20, kVocab)}}});
}

TEST(BlasProducts, OfEveryExpert) {
  constexpr uint32_t kExperts = 5;
  constexpr uint32_t kRows = 600;
  for (const bool sum : {false, true}) {
    const auto make = [&] {
      ProgramBuilder b;
      const Slot x = op::embed(b, b.weight("x", Format::F32, kVocab, kWidth));
      const Slot router = b.weight("r", Format::F32, kExperts, kWidth);
      const Route route =
          op::moe_route(b, op::linear(b, x, router),
                        {.used = 2, .scoring = TENON_MOE_SOFTMAX_ALL, .normalise = true});
      const Slot w = b.weight("w", Format::F16, kExperts * kRows, kWidth);
      const Slot bias = b.weight("b", Format::F32, kExperts, kRows);
      return finish(b,
                    op::moe_linear(b, x, route, w, {kExperts, sum, ExpertWeights::Outputs, bias}));
    };
    const Weights weights = {{"x", random_values(kVocab * kWidth, 1)},
                             {"r", random_values(kExperts * kWidth, 2)},
                             {"w", random_values(kExperts * kRows * kWidth, 3, 0.1f)},
                             {"b", random_values(kExperts * kRows, 4)}};
    expect_like_reference(make, weights, {{{tokens(1, kVocab)}}, {{tokens(50, kVocab)}}});
  }
}

struct Mask {
  uint32_t mask;
  uint32_t window;
};

// More tokens than a tile and more positions than a chunk; the second step begins inside both.
TEST(BlasAttention, OfEveryTileAndChunk) {
  constexpr uint32_t kHeads = 6;
  constexpr CacheGroup kGroup = {1, 2, 24, 16, TENON_TYPE_F32, 100};
  for (const Mask& mask :
       {Mask{TENON_MASK_CAUSAL, 0}, Mask{TENON_MASK_CAUSAL, 70}, Mask{TENON_MASK_CHUNKED, 90}}) {
    const auto make = [&] {
      ProgramBuilder b;
      const auto rows = [&](const char* name, uint64_t columns) {
        return op::embed(b, b.weight(name, Format::F32, kVocab, columns));
      };
      AttentionOptions options;
      options.group = b.cache_group(kGroup);
      options.heads = kHeads;
      options.scale = 0.3f;
      options.mask = mask.mask;
      options.window = mask.window;
      options.sinks = b.weight("s", Format::F32, 1, kHeads);
      op::kv_write(b, rows("k", 2 * 24), rows("v", 2 * 16), options.group, 0);
      return finish(b, op::attention(b, rows("q", kHeads * 24), options));
    };
    const Weights weights = {{"q", random_values(kVocab * kHeads * 24, 1)},
                             {"k", random_values(kVocab * 2 * 24, 2)},
                             {"v", random_values(kVocab * 2 * 16, 3)},
                             {"s", random_values(kHeads, 4)}};
    const std::vector<std::vector<Part>> steps = {
        {{tokens(411, kVocab), 0}}, {{tokens(75, kVocab), 411}}, {{tokens(1, kVocab), 486}}};
    expect_like_reference(make, weights, steps);
  }
}

TEST(BlasProducts, EndWhenTheStepIsCancelledMeanwhile) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("x", Format::F32, kVocab, kWidth));
  BlasRunner runner(
      finish(b, op::linear(b, x, b.weight("w", Format::F32, 1100, kWidth))),
      {{"x", random_values(kVocab * kWidth, 1)}, {"w", random_values(1100 * kWidth, 2)}});
  testing_reference::OwnedStep owned(runner.view(), {Part{{1, 2, 3}}}, runner.slab(),
                                     BlasRunner::kBlocks);
  uint32_t cancel = 0;
  owned.step.cancel = &cancel;
  runner.host().raised_by_jobs = &cancel;
  uint64_t ticket = 0;
  EXPECT_EQ(runner.run(owned.step, &ticket), TENON_BACKEND_CANCELLED);
}

}  // namespace
}  // namespace tenon::testing_blas
