// Mixtures of experts in the reference backend against manually computed values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "program/operations.h"
#include "tests/backends/reference/reference_runner.h"

namespace tenon::testing_reference {
namespace {

using testing::ElementsAreArray;
using testing::FloatEq;

/// Runs one token whose row of the table "x" is `row` through `body`.
template <typename Body>
std::vector<float> run_on_row(const std::vector<float>& row, const Body& body,
                              Weights weights = {}) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("x", Format::F32, 1, row.size()));
  const Slot logits = op::gather_rows(b, body(b, x));
  weights["x"] = row;
  ReferenceRunner runner(std::move(b).finish(logits, {}), weights);
  return runner.run({Part{{0}}});
}

void expect_row(const std::vector<float>& actual, const std::vector<double>& expected) {
  std::vector<testing::Matcher<float>> matchers;
  for (const double value : expected) matchers.push_back(FloatEq(static_cast<float>(value)));
  EXPECT_THAT(actual, ElementsAreArray(matchers));
}

const double kE = std::exp(1.0);

/// Numbers, then weights, of the experts chosen for a row of logits.
std::vector<float> route_of(const std::vector<float>& logits, const RouteOptions& options) {
  ProgramBuilder b;
  const Route route =
      op::moe_route(b, op::embed(b, b.weight("x", Format::F32, 1, logits.size())), options);
  b.result(route.ids);
  b.result(route.weights);
  ReferenceRunner runner(std::move(b).finish(kNoSlot, {}), Weights{{"x", logits}});
  const std::vector<std::vector<float>> results = runner.run_all({Part{{0}}});
  std::vector<float> all;
  for (const float id : results[0]) all.push_back(static_cast<float>(std::bit_cast<int32_t>(id)));
  all.insert(all.end(), results[1].begin(), results[1].end());
  return all;
}

TEST(ReferenceMoeRoute, SoftmaxOverAllOrOverTheChosen) {
  const std::vector<float> logits = {0, 2, -1, 3};
  const double chosen = 1 / (1 + 1 / kE);
  expect_row(route_of(logits, {2, TENON_MOE_SOFTMAX_CHOSEN, 1}), {3, 1, chosen, 1 - chosen});
  const double all = 1 + std::exp(2) + std::exp(-1) + std::exp(3);
  expect_row(route_of(logits, {2, TENON_MOE_SOFTMAX_ALL, 2.5f}),
             {3, 1, 2.5 * std::exp(3) / all, 2.5 * std::exp(2) / all});
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(ReferenceMoeRoute, SigmoidNormalisedOrNot) {
  const std::vector<float> logits = {0, 2, -1, 3};
  const double a = sigmoid(3), b = sigmoid(2);
  RouteOptions options{.used = 2, .scoring = TENON_MOE_SIGMOID, .scale = 2.0f};
  expect_row(route_of(logits, options), {3, 1, 2 * a, 2 * b});
  options.normalise = true;
  expect_row(route_of(logits, options), {3, 1, 2 * a / (a + b), 2 * b / (a + b)});
  options.min_sum = 4;
  expect_row(route_of(logits, options), {3, 1, a / 2, b / 2});
}

/// Among logits 4, 3.9 and 2, the first two are within a tenth of each other; 2 has no close logit.
TEST(ReferenceMoeRoute, SparseMixerWeighsAmongWhatComesClose) {
  const RouteOptions options{
      .used = 3, .scoring = TENON_MOE_SPARSE_MIXER, .scale = 2.0f, .closeness = 0.1f};
  const double first = 1 / (1 + std::exp(double{3.9f} - 4));
  expect_row(route_of({2, 4, -3, 3.9f}, options), {1, 3, 0, 2 * first, 2, 2});
}

// With negative logits, max(|l_i|, l) is the other's magnitude: -1.05 is within 0.1 of -1.
TEST(ReferenceMoeRoute, SparseMixerOfNegativeLogits) {
  const RouteOptions options{.used = 2, .scoring = TENON_MOE_SPARSE_MIXER, .closeness = 0.1f};
  const double first = 1 / (1 + std::exp(double{-1.05f} + 1));
  expect_row(route_of({-1, -4, -1.05f}, options), {0, 2, first, 1});
}

/// Routes with a selection bias "s" and a scale per expert "e".
std::vector<float> route_with_vectors(const std::vector<float>& logits, RouteOptions options,
                                      const std::vector<float>& bias,
                                      const std::vector<float>& scale) {
  ProgramBuilder b;
  options.selection_bias = b.weight("s", Format::F32, 1, logits.size());
  options.expert_scale = b.weight("e", Format::F32, 1, logits.size());
  const Route route =
      op::moe_route(b, op::embed(b, b.weight("x", Format::F32, 1, logits.size())), options);
  b.result(route.ids);
  b.result(route.weights);
  ReferenceRunner runner(std::move(b).finish(kNoSlot, {}),
                         Weights{{"x", logits}, {"s", bias}, {"e", scale}});
  const std::vector<std::vector<float>> results = runner.run_all({Part{{0}}});
  std::vector<float> all;
  for (const float id : results[0]) all.push_back(static_cast<float>(std::bit_cast<int32_t>(id)));
  all.insert(all.end(), results[1].begin(), results[1].end());
  return all;
}

TEST(ReferenceMoeRoute, TheBiasChoosesAndTheScaleWeighs) {
  expect_row(route_with_vectors({0, 2, -1, 3}, {.used = 2, .scoring = TENON_MOE_SIGMOID},
                                {10, 0, 5, 0}, {2, 3, 4, 5}),
             {0, 2, 2 * 0.5, 4 * sigmoid(-1)});
  // SOFTMAX_CHOSEN adds the bias to logits.
  const double e = std::exp(1.0);
  expect_row(route_with_vectors({0, 2, -1, 3}, {.used = 2}, {2.5f, 0, 3.5f, 0}, {1, 1, 1, 1}),
             {3, 0, 1 / (1 + std::exp(-3.0)), 1 / (1 + e * e * e)});
}

TEST(ReferenceMoeRoute, OnlyExpertsOfTheLargestGroups) {
  // Sigmoids: 0.88 + 0.12 of the first group is less than 0.73 + 0.62 of the second.
  const std::vector<float> logits = {2, -2, 1, 0.5f, -3, -3};
  const RouteOptions options{
      .used = 2, .scoring = TENON_MOE_SIGMOID, .groups = 3, .groups_used = 1};
  expect_row(route_of(logits, options), {2, 3, sigmoid(1), sigmoid(0.5)});
  RouteOptions two = options;
  two.groups_used = 2;
  expect_row(route_of(logits, two), {0, 2, sigmoid(2), sigmoid(1)});
  // Groups of one count their only expert; ties go to the lower number.
  expect_row(route_of({1, 1, 1, 1},
                      {.used = 2, .scoring = TENON_MOE_SIGMOID, .groups = 4, .groups_used = 3}),
             {0, 1, sigmoid(1), sigmoid(1)});
}

TEST(ReferenceMoeLinear, WeightsBiasesAndSums) {
  // Experts of a row: 1 with weight 0.5, then 0 with weight 0.25.
  const auto run = [&](const MoeLinearOptions& options, bool biased) {
    return run_on_row({0, 1},
                      [&](ProgramBuilder& b, Slot x) {
                        const Slot scale = b.weight("e", Format::F32, 1, 2);
                        const Route route =
                            op::moe_route(b, op::scale(b, x, 0),
                                          {.used = 2,
                                           .scoring = TENON_MOE_SIGMOID,
                                           .selection_bias = b.weight("s", Format::F32, 1, 2),
                                           .expert_scale = scale});
                        MoeLinearOptions full = options;
                        full.experts = 2;
                        if (biased) full.bias = b.weight("b", Format::F32, 2, 1);
                        return op::moe_linear(b, x, route, b.weight("w", Format::F32, 2, 2), full);
                      },
                      {{"e", {0.5f, 1}}, {"s", {0, 1}}, {"w", {0, 8, 0, 4}}, {"b", {100, 1000}}});
  };
  expect_row(run({}, false), {4, 8});
  expect_row(run({.sum = true}, false), {12});
  expect_row(run({}, true), {1004, 108});
  expect_row(run({.weights = ExpertWeights::Outputs}, true), {502, 27});
  expect_row(run({.weights = ExpertWeights::Inputs}, true), {1002, 102});
  expect_row(run({.sum = true, .weights = ExpertWeights::Inputs}, true), {1104});
}

TEST(ReferenceMoeRoute, EqualLogitsGoToTheLowerNumber) {
  expect_row(route_of({1, 5, 5, 1, 5}, {.used = 4}),
             {1, 2, 4, 0, 1 / (3 + std::exp(-4)), 1 / (3 + std::exp(-4)), 1 / (3 + std::exp(-4)),
              std::exp(-4) / (3 + std::exp(-4))});
}

TEST(ReferenceMoeRoute, LargeLogitsDoNotOverflow) {
  expect_row(route_of({3000, 0, 3001}, {.used = 2}), {2, 0, kE / (1 + kE), 1 / (1 + kE)});
}

TEST(ReferenceMoeRoute, WhatIsNoNumberIsChosenLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> out = route_of({nan, 1, nan, 2}, {2, TENON_MOE_SOFTMAX_CHOSEN, 1.0f});
  EXPECT_EQ(out[0], 3.0f);
  EXPECT_EQ(out[1], 1.0f);
}

/// Experts 2 and 0 of three, with weights e / (1 + e) and 1 / (1 + e); x is the row of their
/// logits.
const std::vector<float> kRow = {1, -5, 2};
const Weights kExperts = {{"w",
                           {1, 0, 0, 0, 1, 0,  //
                            9, 9, 9, 9, 9, 9,  //
                            0, 0, 1, 10, 0, 0}}};

TEST(ReferenceMoeLinear, EachExpertOnTheSameRow) {
  expect_row(run_on_row(
                 kRow,
                 [](ProgramBuilder& b, Slot x) {
                   const Route routes = op::moe_route(b, x, {.used = 2});
                   return op::moe_linear(b, x, routes, b.weight("w", Format::F32, 6, 3), 3);
                 },
                 kExperts),
             {2, 10, 1, -5});
}

TEST(ReferenceMoeLinear, WeightedAndAddedUp) {
  const double w = kE / (1 + kE);
  expect_row(run_on_row(
                 kRow,
                 [](ProgramBuilder& b, Slot x) {
                   const Route routes = op::moe_route(b, x, {.used = 2});
                   return op::moe_linear_sum(b, x, routes, b.weight("w", Format::F32, 6, 3), 3);
                 },
                 kExperts),
             {2 * w + (1 - w), 10 * w - 5 * (1 - w)});
}

TEST(ReferenceMoeLinear, APartOfTheRowForEachExpert) {
  Weights weights = kExperts;
  weights["v"] = {1, 1, 2, 2, 1, -1};  // experts [1, 2]
  const double w = kE / (1 + kE);
  expect_row(run_on_row(
                 kRow,
                 [](ProgramBuilder& b, Slot x) {
                   const Route routes = op::moe_route(b, x, {.used = 2});
                   const Slot h = op::moe_linear(b, x, routes, b.weight("w", Format::F32, 6, 3), 3);
                   return op::moe_linear_sum(b, h, routes, b.weight("v", Format::F32, 3, 2), 3);
                 },
                 weights),
             {w * (2 - 10) + (1 - w) * (1 - 5)});
}

TEST(ReferenceSigmoidGate, MultipliesTheRow) {
  expect_row(run_on_row({3, -4},
                        [](ProgramBuilder& b, Slot x) {
                          const Slot g = op::linear(b, x, b.weight("g", Format::F32, 1, 2));
                          return op::sigmoid_gate(b, x, g);
                        },
                        {{"g", {1, 1}}}),
             {3 / (1 + kE), -4 / (1 + kE)});
}

}  // namespace
}  // namespace tenon::testing_reference
