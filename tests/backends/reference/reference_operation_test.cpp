// Every operation of the reference backend against manually computed values: it is the oracle of
// all other backends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "program/operations.h"
#include "tests/backends/reference/reference_runner.h"

namespace tenon::testing_reference {
namespace {

using testing::ElementsAreArray;
using testing::FloatEq;

/// Logits for tokens 0, 1, ... of the table "x" [rows, columns] after `body`.
std::vector<float> run_on_table(const std::vector<float>& table, uint64_t columns,
                                const std::function<Slot(ProgramBuilder&, Slot)>& body,
                                Weights weights = {}) {
  ProgramBuilder b;
  const uint64_t rows = table.size() / columns;
  const Slot x = op::embed(b, b.weight("x", Format::F32, rows, columns));
  const Slot logits = op::gather_rows(b, body(b, x));
  weights["x"] = table;
  Part part;
  for (uint64_t i = 0; i < rows; ++i) part.tokens.push_back(static_cast<int32_t>(i));
  ReferenceRunner runner(std::move(b).finish(logits, {}), weights);
  return runner.run({part});
}

TEST(ReferenceEmbed, PicksRowsAndGathersThem) {
  ProgramBuilder b;
  const Slot logits = op::gather_rows(b, op::embed(b, b.weight("x", Format::F32, 3, 2)));
  ReferenceRunner runner(std::move(b).finish(logits, {}), {{"x", {1, 2, 3, 4, 5, 6}}});
  OwnedStep owned(runner.view(), {Part{{2, 0, 1}}}, runner.slab(), ReferenceRunner::kBlocks);
  owned.rows = {1, 1, 0};
  owned.step.output_rows = owned.rows.data();
  uint64_t ticket = 0;
  ASSERT_EQ(runner.run(owned.step, &ticket), TENON_BACKEND_OK);
  expect_values(owned.results.front(), {1, 2, 1, 2, 5, 6});
}

TEST(ReferenceNorm, RmsOfARow) {
  const auto out = run_on_table({3, 4}, 2,
                                [](ProgramBuilder& b, Slot x) {
                                  return op::rms_norm(b, x, b.weight("w", Format::F32, 1, 2), 0);
                                },
                                {{"w", {1, 2}}});
  expect_values(out, {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)});
}

TEST(ReferenceNorm, RmsOfSegmentsShareTheWeight) {
  const auto out =
      run_on_table({3, 4, 0, 2}, 4,
                   [](ProgramBuilder& b, Slot x) {
                     return op::rms_norm(b, x, b.weight("w", Format::F32, 1, 2), 0.5f, 2);
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
                       return op::layer_norm(b, x, b.weight("w", Format::F32, 1, 2), bias, 0.5f);
                     },
                     {{"w", {1, 2}}, {"b", {10, 20}}});
    const double unit = 2 / std::sqrt(4.5);
    expect_values(out, {-unit + (biased ? 10 : 0), 2 * unit + (biased ? 20 : 0)});
  }
}

TEST(ReferenceNorm, WithoutWeights) {
  expect_values(
      run_on_table({3, 4}, 2,
                   [](ProgramBuilder& b, Slot x) { return op::rms_norm(b, x, kNoSlot, 0); }),
      {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)});
  const double unit = 2 / std::sqrt(4.5);
  expect_values(run_on_table({1, 5}, 2,
                             [](ProgramBuilder& b, Slot x) {
                               return op::layer_norm(b, x, kNoSlot,
                                                     b.weight("b", Format::F32, 1, 2), 0.5f);
                             },
                             {{"b", {10, 20}}}),
                {10 - unit, 20 + unit});
}

TEST(ReferenceNorm, L2OfSegmentsNoShorterThanEpsilon) {
  expect_values(run_on_table({3, 4, 0.3f, 0.4f, 0, 0}, 6,
                             [](ProgramBuilder& b, Slot x) { return op::l2_norm(b, x, 2.0f, 2); }),
                {0.6, 0.8, 0.15, 0.2, 0, 0});
}

TEST(ReferenceLinearHeads, EachHeadHasItsOwnMatrix) {
  const auto out =
      run_on_table({1, 2, 3, 4}, 4,
                   [](ProgramBuilder& b, Slot x) {
                     return op::linear_heads(b, x, b.weight("w", Format::F32, 6, 2), 2);
                   },
                   {{"w", {1, 0, 0, 1, 1, 1, 10, 0, 0, 10, 10, -10}}});
  expect_values(out, {1, 2, 3, 30, 40, -10});
}

TEST(ReferenceLinear, RowsTimesRowsOfTheWeight) {
  const auto out = run_on_table({1, 2, -1, 0.5f}, 2,
                                [](ProgramBuilder& b, Slot x) {
                                  return op::linear(b, x, b.weight("w", Format::F32, 3, 2),
                                                    b.weight("b", Format::F32, 1, 3));
                                },
                                {{"w", {1, 0, 0, 1, 3, -2}}, {"b", {0, 10, 100}}});
  expect_values(out, {1, 12, 99, -1, 10.5, 96});
}

TEST(ReferenceLinear, SumsInDoublePrecision) {
  // In f32 the small term would be lost beside the large ones.
  const auto out = run_on_table(
      {1e8f, 1, -1e8f}, 3,
      [](ProgramBuilder& b, Slot x) { return op::linear(b, x, b.weight("w", Format::F32, 1, 3)); },
      {{"w", {1, 1, 1}}});
  expect_values(out, {1});
}

/// Rotates the table's rows as positions past, past + 1, ...
std::vector<float> rotate(const std::vector<float>& table, uint32_t head_dim,
                          const std::vector<double>& frequencies, uint32_t style, uint32_t past,
                          float magnitude = 1.0f) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("x", Format::F32, 1, table.size()));
  const Slot angles = op::rope_angles(b, b.constant("f", frequencies), magnitude);
  const Slot logits = op::gather_rows(b, op::rope(b, x, angles, style, head_dim));
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

TEST(ReferenceRope, FromAnOffset) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("x", Format::F32, 1, 4));
  const Slot angles = op::rope_angles(b, b.constant("f", std::vector{1.0}), 1.0f);
  const Slot logits = op::gather_rows(b, op::rope(b, x, angles, TENON_ROPE_ADJACENT, 4, 1));
  ReferenceRunner runner(std::move(b).finish(logits, {}), {{"x", {7, 1, 2, 8}}});
  Part part{{0}};
  part.past = 2;
  expect_values(runner.run({part}),
                {7, std::cos(2) - 2 * std::sin(2), std::sin(2) + 2 * std::cos(2), 8});
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
      return op::glu(b, c.activation, x, op::scale(b, x, 2.0f));
    });
    expect_values(out, {2 * c.at_one, -2 * c.at_minus_one});
  }
}

TEST(ReferenceGlu, LimitOffsetAndAlpha) {
  const auto out = run_on_table({1, 9, -9}, 3, [](ProgramBuilder& b, Slot x) {
    return op::glu(b, {.alpha = 2.0f, .limit = 3.0f, .up_offset = 1.0f}, x, x);
  });
  const auto silu = [](double x) { return x / (1 + std::exp(-2 * x)); };
  expect_values(out, {silu(1) * 2, silu(3) * 4, silu(-9) * -2});
}

TEST(ReferenceGlu, LimitOfTheActivatedGate) {
  const auto out = run_on_table({1, 9, -9}, 3, [](ProgramBuilder& b, Slot x) {
    return op::glu(b, {.limit = 3.0f, .limit_after = true}, x, x);
  });
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  expect_values(out, {silu(1), 3 * 3, silu(-9) * -3});
}

TEST(ReferenceActivate, ValuesAtOneAndMinusTwo) {
  const struct {
    uint32_t activation;
    double at_one;
    double at_minus_two;
  } kCases[] = {
      {TENON_ACTIVATION_SILU, 0.7310585786300049, -0.2384058440442351},
      {TENON_ACTIVATION_GELU_ERF, 0.8413447460685429, -0.04550026389635842},
      {TENON_ACTIVATION_GELU_TANH, 0.8411919906082768, -0.04540230591222047},
      {TENON_ACTIVATION_RELU, 1, 0},
      {TENON_ACTIVATION_RELU_SQUARED, 1, 0},
      {TENON_ACTIVATION_SIGMOID, 0.7310585786300049, 0.11920292202211755},
      {TENON_ACTIVATION_TANH, 0.7615941559557649, -0.9640275800758169},
      {TENON_ACTIVATION_SOFTPLUS, 1.3132616875182228, 0.1269280110429725},
      {TENON_ACTIVATION_EXP, 2.718281828459045, 0.1353352832366127},
  };
  for (const auto& c : kCases) {
    const auto out = run_on_table(
        {1, -2}, 2, [&](ProgramBuilder& b, Slot x) { return op::activate(b, c.activation, x); });
    expect_values(out, {c.at_one, c.at_minus_two});
  }
}

TEST(ReferenceActivate, Xielu) {
  const XieluOptions options{.alpha_p = 0.5f, .alpha_n = 2.0f, .beta = 0.25f, .epsilon = -1.0f};
  const auto out = run_on_table(
      {2, -3, -0.5f}, 3, [&](ProgramBuilder& b, Slot x) { return op::xielu(b, options, x); });
  // -0.5 exceeds epsilon, so the exponential uses epsilon.
  expect_values(out, {0.5 * 4 + 0.5, 2 * (std::expm1(-3.0) + 3) - 0.75,
                      2 * (std::expm1(-1.0) + 0.5) - 0.125});
}

TEST(ReferenceElementwise, VectorsAndPieces) {
  const Weights vectors = {{"v", {10, 20, 30, 40}}, {"s", {2, 3}}};
  const auto run = [&](const std::function<Slot(ProgramBuilder&, Slot)>& body) {
    return run_on_table({1, 2, 3, 4, 5, 6, 7, 8}, 4, body, vectors);
  };
  const auto v = [](ProgramBuilder& b) { return b.weight("v", Format::F32, 1, 4); };
  const auto s = [](ProgramBuilder& b) { return b.weight("s", Format::F32, 1, 2); };
  expect_values(run([&](ProgramBuilder& b, Slot x) { return op::add(b, x, v(b)); }),
                {11, 22, 33, 44, 15, 26, 37, 48});
  expect_values(run([&](ProgramBuilder& b, Slot x) { return op::mul(b, x, s(b)); }),
                {2, 4, 9, 12, 10, 12, 21, 24});
  expect_values(
      run([](ProgramBuilder& b, Slot x) { return op::mul(b, x, op::slice(b, x, 4, 1, 1)); }),
      {2, 4, 6, 8, 30, 36, 42, 48});
  const auto gate = [](double g) { return 1 / (1 + std::exp(-g)); };
  expect_values(run([](ProgramBuilder& b, Slot x) {
                  return op::sigmoid_gate(b, x, op::slice(b, x, 2, 1, 1));
                }),
                {gate(2), 2 * gate(2), 3 * gate(4), 4 * gate(4), 5 * gate(6), 6 * gate(6),
                 7 * gate(8), 8 * gate(8)});
}

TEST(ReferenceScale, WithAnOffset) {
  expect_values(
      run_on_table({1, 2, 3}, 3,
                   [](ProgramBuilder& b, Slot x) { return op::scale(b, x, 2.0f, -5.0f); }),
      {-3, -1, 1});
}

TEST(ReferenceMixStreams, OneOfTwoTwoOfTwoAndWhatIsAdded) {
  // Two streams of two columns; 5, 6 are their factors, and 7, 8, 9, 10 a matrix by input stream.
  const auto run = [](const std::function<MixOptions(ProgramBuilder&, Slot)>& options) {
    return run_on_table({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10, [&](ProgramBuilder& b, Slot x) {
      return op::mix_streams(b, op::slice(b, x, 10, 0, 4), options(b, x));
    });
  };
  expect_values(run([](ProgramBuilder&, Slot) { return MixOptions{.streams = 2}; }), {4, 6});
  expect_values(run([](ProgramBuilder& b, Slot x) {
                  return MixOptions{.streams = 2, .matrix = op::slice(b, x, 10, 4, 2)};
                }),
                {5 + 18, 10 + 24});
  expect_values(run([](ProgramBuilder& b, Slot x) {
                  return MixOptions{
                      .streams = 2, .results = 2, .matrix = op::slice(b, x, 10, 6, 4)};
                }),
                {7 + 27, 14 + 36, 8 + 30, 16 + 40});
  expect_values(run([](ProgramBuilder& b, Slot x) {
                  return MixOptions{.streams = 2,
                                    .results = 2,
                                    .added = op::slice(b, x, 10, 6, 2),
                                    .factors = op::slice(b, x, 10, 4, 2)};
                }),
                {1 + 35, 2 + 40, 3 + 42, 4 + 48});
}

TEST(ReferenceSinkhorn, FirstColumnsThenRowsAndColumns) {
  const float l = std::log(3.0f);
  const auto run = [&](uint32_t iterations, float epsilon) {
    return run_on_table({0, l, 0, 0}, 4, [&](ProgramBuilder& b, Slot x) {
      return op::sinkhorn(b, x, {.size = 2, .iterations = iterations, .epsilon = epsilon});
    });
  };
  // Softmax: 1/4 3/4, 1/2 1/2.
  expect_values(run(1, 0.0f), {1 / 3.0, 3 / 5.0, 2 / 3.0, 2 / 5.0});
  // Rows 1/3 3/5 and 2/3 2/5, divided by their sums.
  const double a = 5 / 14.0, c = 10 / 16.0;
  expect_values(run(2, 0.0f),
                {a / (a + c), (1 - a) / (2 - a - c), c / (a + c), (1 - c) / (2 - a - c)});
  expect_values(run(1, 0.5f), {0.75 / 2.25, 1.25 / 2.75, 1 / 2.25, 1 / 2.75});
}

TEST(ReferenceSegments, SumSliceConcat) {
  const auto run = [&](const std::function<Slot(ProgramBuilder&, Slot)>& body) {
    return run_on_table({1, 2, 3, 4, 5, 6}, 6, body);
  };
  expect_values(run([](ProgramBuilder& b, Slot x) { return op::sum_segments(b, x, 3); }), {6, 15});
  expect_values(run([](ProgramBuilder& b, Slot x) { return op::slice(b, x, 3, 1, 2); }),
                {2, 3, 5, 6});
  expect_values(
      run([](ProgramBuilder& b, Slot x) { return op::concat(b, x, op::sum_segments(b, x, 3), 2); }),
      {1, 2, 3, 6, 4, 5, 6, 15});
  expect_values(run([](ProgramBuilder& b, Slot x) {
                  return op::concat_to_each(b, x, op::sum_segments(b, x, 3), 2);
                }),
                {1, 2, 3, 6, 15, 4, 5, 6, 6, 15});
}

TEST(ReferencePositionScale, GrowsEveryLength) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("x", Format::F32, 1, 1));
  const Slot logits = op::gather_rows(b, op::position_scale(b, x, 0.5f, 2, 1));
  ReferenceRunner runner(std::move(b).finish(logits, {}), {{"x", {1}}});
  expect_values(runner.run({Part{{0, 0, 0, 0}}}),
                {1, 1 + 0.5 * std::log(2), 1 + 0.5 * std::log(2), 1 + 0.5 * std::log(3)});
}

TEST(ReferencePool, RowsOfEachSequence) {
  const auto pooled = [](uint32_t kind) {
    ProgramBuilder b;
    b.result(op::pool(b, op::embed(b, b.weight("x", Format::F32, 3, 2)), kind));
    ReferenceRunner runner(std::move(b).finish(kNoSlot, {}), {{"x", {1, 2, 3, 4, 8, 9}}});
    std::vector<float> rows = runner.run({Part{{0, 1}}, Part{{}}, Part{{2, 1}}});
    rows.resize(6);  // three sequences
    return rows;
  };
  expect_values(pooled(TENON_POOL_MEAN), {2, 3, 0, 0, 5.5, 6.5});
  expect_values(pooled(TENON_POOL_FIRST), {1, 2, 0, 0, 8, 9});
  expect_values(pooled(TENON_POOL_LAST), {3, 4, 0, 0, 3, 4});
}

TEST(ReferencePositions, OfThreeParts) {
  ProgramBuilder b;
  b.position_parts(3);
  const Slot parts = b.constant("parts", std::vector{1.0, 0.0, 2.0});
  const Slot angles = op::rope_angles(b, b.constant("f", std::vector{1.0, 1.0, 0.5}), 1.0f, parts);
  b.result(op::gather_rows(b, angles));
  b.result(
      op::gather_rows(b, op::embed(b, b.weight("x", Format::F32, 8, 1), TENON_EMBED_POSITIONS)));
  ReferenceRunner runner(std::move(b).finish(kNoSlot, {}), {{"x", {0, 1, 2, 3, 4, 5, 6, 7}}});
  OwnedStep owned(runner.view(), {Part{{0, 0}}}, runner.slab(), ReferenceRunner::kBlocks);
  owned.positions = {0, 1, 2, 5, 7, 11};
  owned.step.positions = owned.positions.data();
  uint64_t ticket = 0;
  ASSERT_EQ(runner.run(owned.step, &ticket), TENON_BACKEND_OK);
  expect_values(owned.results[0],
                {std::cos(1), 1, std::cos(1), std::sin(1), 0, std::sin(1), std::cos(7), std::cos(5),
                 std::cos(5.5), std::sin(7), std::sin(5), std::sin(5.5)});
  expect_values(owned.results[1], {0, 5});
  ASSERT_EQ(ReferenceRunner::api().wait(runner.executable(), ticket), TENON_BACKEND_OK);
  owned.positions[3] = 8;
  EXPECT_EQ(runner.run(owned.step, &ticket), TENON_BACKEND_ARGUMENT);
}

TEST(ReferenceElementwise, AddScaleSoftCap) {
  expect_values(
      run_on_table({1, -2}, 2, [](ProgramBuilder& b, Slot x) { return op::add(b, x, x); }),
      {2, -4});
  expect_values(
      run_on_table({1, -2}, 2, [](ProgramBuilder& b, Slot x) { return op::scale(b, x, 3); }),
      {3, -6});
  expect_values(
      run_on_table({15, -60}, 2, [](ProgramBuilder& b, Slot x) { return op::soft_cap(b, x, 30); }),
      {30 * std::tanh(0.5), 30 * std::tanh(-2.0)});
}

}  // namespace
}  // namespace tenon::testing_reference
