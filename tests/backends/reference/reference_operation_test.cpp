// Every operation of the reference backend against values worked out by hand: it is the oracle of
// all other backends, so nothing else can vouch for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/backends/reference/reference_runner.h"

namespace tenon::testing_reference {
namespace {

using testing::ElementsAreArray;
using testing::FloatEq;

/// Logits for tokens 0, 1, ... of the one table "x" [rows, columns] after `body`.
std::vector<float> run_on_table(const std::vector<float>& table, uint64_t columns,
                                const std::function<Slot(ProgramBuilder&, Slot)>& body,
                                Weights weights = {}) {
  ProgramBuilder b;
  const uint64_t rows = table.size() / columns;
  const Slot x = b.embed(b.weight("x", Format::F32, rows, columns));
  const Slot logits = b.gather_rows(body(b, x));
  weights["x"] = table;
  Part part;
  for (uint64_t i = 0; i < rows; ++i) part.tokens.push_back(static_cast<int32_t>(i));
  ReferenceRunner runner(std::move(b).finish(logits, {}), weights);
  return runner.run({part});
}

void expect_values(const std::vector<float>& actual, const std::vector<double>& expected) {
  std::vector<testing::Matcher<float>> matchers;
  for (const double value : expected) matchers.push_back(FloatEq(static_cast<float>(value)));
  EXPECT_THAT(actual, ElementsAreArray(matchers));
}

TEST(ReferenceEmbed, PicksRowsAndGathersThem) {
  ProgramBuilder b;
  const Slot logits = b.gather_rows(b.embed(b.weight("x", Format::F32, 3, 2)));
  ReferenceRunner runner(std::move(b).finish(logits, {}), {{"x", {1, 2, 3, 4, 5, 6}}});
  OwnedStep owned(runner.view(), {Part{{2, 0, 1}}}, runner.slab(), ReferenceRunner::kBlocks);
  owned.rows = {1, 1, 0};
  owned.step.output_rows = owned.rows.data();
  uint64_t ticket = 0;
  ASSERT_EQ(runner.run(owned.step, &ticket), TENON_BACKEND_OK);
  expect_values(owned.results.front(), {1, 2, 1, 2, 5, 6});
}

TEST(ReferenceNorm, RmsOfARow) {
  const auto out = run_on_table(
      {3, 4}, 2,
      [](ProgramBuilder& b, Slot x) { return b.rms_norm(x, b.weight("w", Format::F32, 1, 2), 0); },
      {{"w", {1, 2}}});
  expect_values(out, {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)});
}

TEST(ReferenceNorm, RmsOfSegmentsShareTheWeight) {
  const auto out = run_on_table({3, 4, 0, 2}, 4,
                                [](ProgramBuilder& b, Slot x) {
                                  return b.rms_norm(x, b.weight("w", Format::F32, 1, 2), 0.5f, 2);
                                },
                                {{"w", {1, 2}}});
  expect_values(out, {3 / std::sqrt(13.0), 8 / std::sqrt(13.0), 0, 4 / std::sqrt(2.5)});
}

TEST(ReferenceNorm, LayerNormWithAndWithoutBias) {
  for (const bool biased : {false, true}) {
    const auto out =
        run_on_table({1, 5}, 2,
                     [&](ProgramBuilder& b, Slot x) {
                       const Slot bias = biased ? b.weight("b", Format::F32, 1, 2) : kNoSlot;
                       return b.layer_norm(x, b.weight("w", Format::F32, 1, 2), bias, 0.5f);
                     },
                     {{"w", {1, 2}}, {"b", {10, 20}}});
    const double unit = 2 / std::sqrt(4.5);
    expect_values(out, {-unit + (biased ? 10 : 0), 2 * unit + (biased ? 20 : 0)});
  }
}

TEST(ReferenceLinear, RowsTimesRowsOfTheWeight) {
  const auto out = run_on_table({1, 2, -1, 0.5f}, 2,
                                [](ProgramBuilder& b, Slot x) {
                                  return b.linear(x, b.weight("w", Format::F32, 3, 2),
                                                  b.weight("b", Format::F32, 1, 3));
                                },
                                {{"w", {1, 0, 0, 1, 3, -2}}, {"b", {0, 10, 100}}});
  expect_values(out, {1, 12, 99, -1, 10.5, 96});
}

TEST(ReferenceLinear, SumsInDoublePrecision) {
  // In f32 the small term would vanish beside the large ones.
  const auto out = run_on_table(
      {1e8f, 1, -1e8f}, 3,
      [](ProgramBuilder& b, Slot x) { return b.linear(x, b.weight("w", Format::F32, 1, 3)); },
      {{"w", {1, 1, 1}}});
  expect_values(out, {1});
}

/// Rotates the table's rows, which become positions past, past + 1, ...
std::vector<float> rotate(const std::vector<float>& table, uint32_t head_dim,
                          const std::vector<double>& frequencies, uint32_t style, uint32_t past,
                          float magnitude = 1.0f) {
  ProgramBuilder b;
  const Slot x = b.embed(b.weight("x", Format::F32, 1, table.size()));
  const Slot angles = b.rope_angles(b.constant("f", frequencies), magnitude);
  const Slot logits = b.gather_rows(b.rope(x, angles, style, head_dim));
  ReferenceRunner runner(std::move(b).finish(logits, {}), {{"x", table}});
  Part part{{0}};
  part.past = past;
  return runner.run({part});
}

TEST(ReferenceRope, AdjacentPairs) {
  expect_values(rotate({1, 0, 0, 1}, 4, {1.0, 0.5}, TENON_ROPE_ADJACENT, 3),
                {std::cos(3), std::sin(3), -std::sin(1.5), std::cos(1.5)});
}

TEST(ReferenceRope, HalvesLeaveTheTailOfEachHead) {
  expect_values(rotate({1, 2, 7, 3, 4, 8}, 3, {1.0}, TENON_ROPE_HALVES, 2),
                {std::cos(2) - 2 * std::sin(2), std::sin(2) + 2 * std::cos(2), 7,
                 3 * std::cos(2) - 4 * std::sin(2), 3 * std::sin(2) + 4 * std::cos(2), 8});
}

TEST(ReferenceRope, MagnitudeAndFarPositions) {
  const double angle = 1'000'003 * 0.7;
  expect_values(rotate({1, 0}, 2, {0.7}, TENON_ROPE_HALVES, 1'000'003, 2.0f),
                {2 * std::cos(angle), 2 * std::sin(angle)});
}

TEST(ReferenceGlu, ActivationsAtOneAndMinusOne) {
  const struct {
    uint32_t activation;
    double at_one;
    double at_minus_one;
  } kCases[] = {
      {TENON_ACTIVATION_SILU, 0.7310585786300049, -0.2689414213699951},
      {TENON_ACTIVATION_GELU_ERF, 0.8413447460685429, -0.15865525393145707},
      {TENON_ACTIVATION_GELU_TANH, 0.8411919906082768, -0.15880800939172324},
      {TENON_ACTIVATION_RELU, 1, 0},
  };
  for (const auto& c : kCases) {
    const auto out = run_on_table({1, -1}, 2, [&](ProgramBuilder& b, Slot x) {
      return b.glu(c.activation, x, b.scale(x, 2.0f));
    });
    expect_values(out, {2 * c.at_one, -2 * c.at_minus_one});
  }
}

TEST(ReferenceElementwise, AddScaleSoftCap) {
  expect_values(run_on_table({1, -2}, 2, [](ProgramBuilder& b, Slot x) { return b.add(x, x); }),
                {2, -4});
  expect_values(run_on_table({1, -2}, 2, [](ProgramBuilder& b, Slot x) { return b.scale(x, 3); }),
                {3, -6});
  expect_values(
      run_on_table({15, -60}, 2, [](ProgramBuilder& b, Slot x) { return b.soft_cap(x, 30); }),
      {30 * std::tanh(0.5), 30 * std::tanh(-2.0)});
}

}  // namespace
}  // namespace tenon::testing_reference
