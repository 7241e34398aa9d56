// Mixtures of experts of the reference backend against values worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/backends/reference/reference_runner.h"

namespace tenon::testing_reference {
namespace {

using testing::ElementsAreArray;
using testing::FloatEq;

/// One token whose row of the table "x" is `row`, after `body`.
template <typename Body>
std::vector<float> run_on_row(const std::vector<float>& row, const Body& body,
                              Weights weights = {}) {
  ProgramBuilder b;
  const Slot x = b.embed(b.weight("x", Format::F32, 1, row.size()));
  const Slot logits = b.gather_rows(body(b, x));
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

/// Numbers and then weights of the experts that a row of logits chooses.
std::vector<float> route_of(const std::vector<float>& logits, const RouteOptions& options) {
  ProgramBuilder b;
  const Route route = b.moe_route(b.embed(b.weight("x", Format::F32, 1, logits.size())), options);
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

TEST(ReferenceMoeRoute, EqualLogitsGoToTheLowerNumber) {
  expect_row(route_of({1, 5, 5, 1, 5}, {.used = 4}),
             {1, 2, 4, 0, 1 / (3 + std::exp(-4)), 1 / (3 + std::exp(-4)), 1 / (3 + std::exp(-4)),
              std::exp(-4) / (3 + std::exp(-4))});
}

TEST(ReferenceMoeRoute, LargeLogitsDoNotOverflow) {
  expect_row(route_of({3000, 0, 3001}, {.used = 2}),
             {2, 0, kE / (1 + kE), 1 / (1 + kE)});
}

TEST(ReferenceMoeRoute, WhatIsNoNumberIsChosenLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> out = route_of({nan, 1, nan, 2}, {2, TENON_MOE_SOFTMAX_CHOSEN, 1.0f});
  EXPECT_EQ(out[0], 3.0f);
  EXPECT_EQ(out[1], 1.0f);
}

/// Experts 2 and 0 of three, weights e / (1 + e) and 1 / (1 + e); x is the row of their logits.
const std::vector<float> kRow = {1, -5, 2};
const Weights kExperts = {{"w",
                           {1, 0, 0, 0, 1, 0,  //
                            9, 9, 9, 9, 9, 9,  //
                            0, 0, 1, 10, 0, 0}}};

TEST(ReferenceMoeLinear, EachExpertOnTheSameRow) {
  expect_row(run_on_row(
                 kRow,
                 [](ProgramBuilder& b, Slot x) {
                   const Route routes = b.moe_route(x, {.used = 2});
                   return b.moe_linear(x, routes, b.weight("w", Format::F32, 6, 3), 3);
                 },
                 kExperts),
             {2, 10, 1, -5});
}

TEST(ReferenceMoeLinear, WeightedAndAddedUp) {
  const double w = kE / (1 + kE);
  expect_row(run_on_row(
                 kRow,
                 [](ProgramBuilder& b, Slot x) {
                   const Route routes = b.moe_route(x, {.used = 2});
                   return b.moe_linear_sum(x, routes, b.weight("w", Format::F32, 6, 3), 3);
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
                   const Route routes = b.moe_route(x, {.used = 2});
                   const Slot h = b.moe_linear(x, routes, b.weight("w", Format::F32, 6, 3), 3);
                   return b.moe_linear_sum(h, routes, b.weight("v", Format::F32, 3, 2), 3);
                 },
                 weights),
             {w * (2 - 10) + (1 - w) * (1 - 5)});
}

TEST(ReferenceSigmoidGate, MultipliesTheRow) {
  expect_row(run_on_row({3, -4},
                        [](ProgramBuilder& b, Slot x) {
                          const Slot g = b.linear(x, b.weight("g", Format::F32, 1, 2));
                          return b.sigmoid_gate(x, g);
                        },
                        {{"g", {1, 1}}}),
             {3 / (1 + kE), -4 / (1 + kE)});
}

}  // namespace
}  // namespace tenon::testing_reference
