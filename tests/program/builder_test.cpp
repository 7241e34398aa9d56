// The builder: its programs, and its refusals of shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "program/operations.h"

namespace tenon {
namespace {

using testing::HasSubstr;
using testing::Property;
using testing::Throws;

template <typename F>
void expect_refused(F&& call, const char* text) {
  EXPECT_THAT(call, Throws<Error>(testing::AllOf(Property(&Error::code, Code::Internal),
                                                 Property(&Error::what, HasSubstr(text)))));
}

const double kFrequencies[] = {1.0, 0.5};

/// A one-layer decoder of width 8 with 2 heads of 4 and 1 KV head.
Program tiny_decoder(const StepLimits& limits) {
  ProgramBuilder b;
  const Slot table = b.weight("embed", Format::F32, 10, 8);
  const uint32_t group = b.cache_group({1, 1, 4, 4, TENON_TYPE_F32, 4});
  Slot x = op::embed(b, table);
  const Slot angles = op::rope_angles(b, b.constant("freqs", kFrequencies), 1.0f);
  const Slot h = op::rms_norm(b, x, b.weight("norm", Format::F32, 1, 8), 1e-5f);
  const Slot q = op::linear(b, h, b.weight("q", Format::F32, 8, 8));
  const Slot k = op::linear(b, h, b.weight("k", Format::F32, 4, 8));
  const Slot v = op::linear(b, h, b.weight("v", Format::F32, 4, 8));
  op::kv_write(b, op::rope(b, k, angles, TENON_ROPE_ADJACENT, 4), v, group, 0);
  AttentionOptions options;
  options.heads = 2;
  options.scale = 0.5f;
  const Slot o = op::attention(b, op::rope(b, q, angles, TENON_ROPE_ADJACENT, 4), options);
  x = op::add(b, x, o);
  return std::move(b).finish(op::linear(b, op::gather_rows(b, x), table), limits);
}

TEST(ProgramBuilder, BuildsAVerifiedProgram) {
  const Program program = tiny_decoder({.max_tokens = 16, .max_outputs = 3});
  const tenon_program& view = program.view();
  EXPECT_NO_THROW(verify_program(view));
  EXPECT_EQ(view.num_ops, program.ops().size());
  EXPECT_EQ(view.max_tokens, 16u);
  EXPECT_EQ(view.max_outputs, 3u);
  EXPECT_GT(view.activation_bytes, 0u);
  const tenon_slot& output = program.slots()[view.logits];
  EXPECT_EQ(output.columns, 10u);
  EXPECT_EQ(output.row_class, TENON_ROWS_OUTPUTS);
  EXPECT_EQ(output.plan_offset, TENON_NO_PLAN);
}

TEST(ProgramBuilder, AMovedProgramKeepsItsView) {
  Program first = tiny_decoder({});
  const Program second = std::move(first);
  EXPECT_NO_THROW(verify_program(second.view()));
  EXPECT_STREQ(second.slots()[0].name, "embed");
  EXPECT_EQ(second.view().slots, second.slots().data());
}

TEST(ProgramBuilder, SameWeightNameIsOneSlot) {
  ProgramBuilder b;
  const Slot first = b.weight("embed", Format::Q8_0, 10, 32);
  EXPECT_EQ(first, b.weight("embed", Format::Q8_0, 10, 32));
  expect_refused([&] { b.weight("embed", Format::Q8_0, 11, 32); }, "two shapes");
}

TEST(ProgramBuilder, AbsentInputsAreNotCounted) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Slot w = b.weight("w", Format::F32, 5, 8);
  const Slot plain = op::linear(b, x, w);
  const Slot biased = op::linear(b, x, w, b.weight("bias", Format::F32, 1, 5));
  const Slot sum = op::gather_rows(b, op::add(b, plain, biased));
  const Program program = std::move(b).finish(sum, {});
  EXPECT_EQ(program.ops()[1].num_inputs, 2u);
  EXPECT_EQ(program.ops()[1].inputs[2], TENON_NO_SLOT);
  EXPECT_EQ(program.ops()[2].num_inputs, 3u);
}

TEST(ProgramBuilder, RefusesShapesThatDoNotFit) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Slot narrow = op::linear(b, x, b.weight("w4", Format::F32, 4, 8));
  const Slot odd = b.weight("w7", Format::F32, 3, 7);
  expect_refused([&] { op::linear(b, x, odd); }, "operation 2 (linear)");
  expect_refused([&] { op::linear(b, x, b.weight("w", Format::F32, 3, 8), odd); },
                 "expected [1, 3]");
  expect_refused([&] { op::add(b, x, narrow); }, "differ in columns");
  expect_refused([&] { op::glu(b, TENON_ACTIVATION_SILU, x, narrow); }, "differ");
  expect_refused([&] { op::glu(b, 99, x, x); }, "unknown activation");
  expect_refused([&] { op::rms_norm(b, x, odd, 1e-5f); }, "expected [1, 8]");
  expect_refused([&] { op::rms_norm(b, x, odd, 1e-5f, 3); }, "segments of 3");
  expect_refused([&] { op::soft_cap(b, x, 0.0f); }, "cap is not");
  expect_refused([&] { op::add(b, x, Slot{999}); }, "no slot 999");
  expect_refused([&] { op::embed(b, x); }, "wrong kind");
  expect_refused([&] { op::add(b, x, op::gather_rows(b, x)); }, "wrong rows");
  expect_refused([&] { op::gather_rows(b, op::gather_rows(b, x)); }, "wrong rows");
}

TEST(ProgramBuilder, RefusesRopeThatDoesNotFit) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Slot angles = op::rope_angles(b, b.constant("f", kFrequencies), 1.0f);
  expect_refused([&] { op::rope(b, x, angles, 7, 4); }, "unknown style");
  expect_refused([&] { op::rope(b, x, angles, TENON_ROPE_HALVES, 3); }, "heads of 3");
  expect_refused([&] { op::rope(b, x, angles, TENON_ROPE_HALVES, 2); }, "do not fit a head of 2");
}

TEST(ProgramBuilder, RefusesAttentionThatDoesNotFit) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Slot kv = op::linear(b, x, b.weight("kv", Format::F32, 4, 8));
  const uint32_t group = b.cache_group({2, 2, 2, 2, TENON_TYPE_F16, 4});
  expect_refused([&] { op::kv_write(b, x, kv, group, 0); }, "the key has 8 columns");
  expect_refused([&] { op::kv_write(b, kv, x, group, 0); }, "the value has 8 columns");
  expect_refused([&] { op::kv_write(b, kv, kv, 5, 0); }, "group does not exist");
  expect_refused([&] { op::kv_write(b, kv, kv, group, 2); }, "no such layer");
  AttentionOptions options;
  options.heads = 3;
  expect_refused([&] { op::attention(b, x, options); }, "3 heads do not share 2 KV heads");
  options.heads = 2;
  expect_refused([&] { op::attention(b, x, options); }, "expected 2 heads of 2");
}

TEST(ProgramBuilder, GivesMixturesOfExpertsTheirShapes) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Route routes =
      op::moe_route(b, op::linear(b, x, b.weight("router", Format::F32, 5, 8)), {.used = 3});
  const Slot each = op::moe_linear(b, x, routes, b.weight("w", Format::F32, 5 * 6, 8), 5);
  const Slot sum = op::moe_linear_sum(b, each, routes, b.weight("v", Format::F32, 5 * 7, 6), 5);
  const Slot gated = op::sigmoid_gate(b, sum, op::linear(b, x, b.weight("g", Format::F32, 1, 8)));
  const Program program = std::move(b).finish(op::gather_rows(b, gated), {});
  const auto columns = [&](Slot slot) {
    return program.slots()[static_cast<uint32_t>(slot)].columns;
  };
  EXPECT_EQ(columns(routes.ids), 3u);
  EXPECT_EQ(columns(routes.weights), 3u);
  EXPECT_EQ(columns(each), 18u);
  EXPECT_EQ(columns(sum), 7u);
  EXPECT_EQ(columns(gated), 7u);
}

TEST(ProgramBuilder, RefusesMixturesOfExpertsThatDoNotFit) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Slot wide = op::linear(b, x, b.weight("wide", Format::F32, 65537, 8));
  expect_refused([&] { op::moe_route(b, x, {.used = 0}); }, "0 of 8 experts");
  expect_refused([&] { op::moe_route(b, x, {.used = 9}); }, "9 of 8 experts");
  expect_refused([&] { op::moe_route(b, wide, {.used = 1}); }, "at most 65536");
  expect_refused([&] { op::moe_route(b, x, {1, 5, 1.0f}); }, "unknown scoring");
  expect_refused([&] { op::moe_route(b, x, {1, 0, NAN}); }, "scale is no number");
  const Route routes = op::moe_route(b, x, {.used = 2});
  const Slot weight = b.weight("w", Format::F32, 24, 8);
  expect_refused([&] { op::moe_linear(b, x, routes, weight, 0); }, "0 experts do not share");
  expect_refused([&] { op::moe_linear(b, x, routes, weight, 7); }, "7 experts do not share");
  expect_refused([&] { op::moe_linear(b, x, routes, weight, 1); }, "no routes to 1 experts");
  const Route other = op::moe_route(b, x, {.used = 3});
  expect_refused(
      [&] {
        op::moe_linear_sum(b, x, {routes.ids, other.weights}, weight, 8);
      },
      "3 weights for 2 experts");
  expect_refused([&] { op::moe_linear(b, wide, routes, weight, 8); }, "not 1 or 2 times");
  expect_refused([&] { op::moe_linear(b, x, {x, x}, weight, 8); }, "wrong kind");
}

TEST(ProgramBuilder, RefusesRoutesThatDoNotFit) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Slot odd = b.weight("w7", Format::F32, 1, 7);
  const auto refused = [&](const RouteOptions& options, const char* text) {
    expect_refused([&] { op::moe_route(b, x, options); }, text);
  };
  refused({.normalise = true}, "normalise");
  refused({.scoring = TENON_MOE_SIGMOID, .min_sum = -1.0f}, "min_sum is negative");
  refused({.scoring = TENON_MOE_SIGMOID, .min_sum = NAN}, "min_sum is negative");
  refused({.scoring = TENON_MOE_SPARSE_MIXER, .normalise = true}, "SPARSE_MIXER with normalise");
  refused({.scoring = TENON_MOE_SPARSE_MIXER, .groups = 4, .groups_used = 2}, "SPARSE_MIXER with");
  refused({.scoring = TENON_MOE_SPARSE_MIXER, .closeness = -1.0f}, "closeness is negative");
  refused({.scoring = TENON_MOE_SPARSE_MIXER, .closeness = NAN}, "closeness is negative");
  refused({.scoring = TENON_MOE_SPARSE_MIXER, .selection_bias = b.weight("s", Format::F32, 1, 8)},
          "selection bias");
  refused({.groups = 3, .groups_used = 1}, "8 experts are not 3 equal groups");
  refused({.groups = 4, .groups_used = 0}, "0 of 4 groups");
  refused({.groups = 4, .groups_used = 5}, "5 of 4 groups");
  refused({.used = 3, .groups = 4, .groups_used = 1}, "1 groups of 2 do not hold 3 experts");
  refused({.selection_bias = odd}, "expected [1, 8]");
  refused({.expert_scale = odd}, "expected [1, 8]");
  EXPECT_NO_THROW(op::moe_route(b, x,
                                {.used = 4,
                                 .scoring = TENON_MOE_SIGMOID,
                                 .normalise = true,
                                 .min_sum = 1e-20f,
                                 .groups = 4,
                                 .groups_used = 2,
                                 .selection_bias = b.weight("b", Format::F32, 1, 8)}));
}

TEST(ProgramBuilder, RefusesWeightsAndBiasesOfExpertsThatDoNotFit) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Route route = op::moe_route(b, x, {.used = 2});
  const Slot weight = b.weight("w", Format::F32, 24, 8);
  const Slot bias = b.weight("b", Format::F32, 8, 2);
  expect_refused([&] { op::moe_linear(b, x, route, weight, {.experts = 8, .bias = bias}); },
                 "the bias is not [8, 3]");
  expect_refused(
      [&] {
        op::moe_linear(b, x, {route.ids, kNoSlot}, weight,
                       {.experts = 8, .weights = ExpertWeights::Inputs});
      },
      "no weights for the inputs");
  const Slot good = b.weight("good", Format::F32, 8, 3);
  EXPECT_NO_THROW(op::moe_linear(b, x, route, weight, {.experts = 8, .sum = true, .bias = good}));
}

TEST(ProgramBuilder, GivesRowwiseOperationsTheirShapes) {
  ProgramBuilder b;
  b.position_parts(3);
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 12));
  const Slot table = b.weight("p", Format::F32, 9, 12);
  const Slot placed = op::embed(b, table, TENON_EMBED_POSITIONS);
  const Slot parts = b.constant("parts", std::vector{0.0, 2.0});
  const Slot angles = op::rope_angles(b, b.constant("f", kFrequencies), 1.0f, parts);
  const Slot sums = op::sum_segments(b, x, 4);
  const Slot slice = op::slice(b, x, 6, 1, 2);
  const Slot each = op::concat(b, x, slice, 2);
  const Slot all = op::concat_to_each(b, x, slice, 3);
  const Slot heads = op::linear_heads(b, x, b.weight("h", Format::F32, 15, 4), 3);
  const Slot pooled = op::pool(b, op::position_scale(b, x, 0.1f, 16), TENON_POOL_MEAN);
  for (const Slot slot :
       {placed, angles, sums, slice, each, all, heads, pooled, op::mul(b, x, sums),
        op::sigmoid_gate(b, x, slice), op::add(b, x, b.weight("v", Format::F32, 1, 12)),
        op::rms_norm(b, x, kNoSlot, 1e-5f), op::layer_norm(b, x, kNoSlot, kNoSlot, 1e-5f, 6),
        op::mix_streams(b, x, {.streams = 4}),
        op::sinkhorn(b, op::slice(b, x, 12, 0, 9), {.size = 3}), op::l2_norm(b, x, 1e-6f, 3),
        op::activate(b, TENON_ACTIVATION_EXP, x), op::xielu(b, {}, x),
        op::rope(b, x, angles, TENON_ROPE_HALVES, 6, 2)}) {
    b.result(slot);
  }
  const Program program = std::move(b).finish(kNoSlot, {});
  EXPECT_EQ(program.view().position_parts, 3u);
  const auto columns = [&](Slot slot) {
    return program.slots()[static_cast<uint32_t>(slot)].columns;
  };
  EXPECT_EQ(columns(angles), 4u);
  EXPECT_EQ(columns(sums), 3u);
  EXPECT_EQ(columns(slice), 4u);
  EXPECT_EQ(columns(each), 16u);
  EXPECT_EQ(columns(all), 24u);
  EXPECT_EQ(columns(heads), 15u);
  EXPECT_EQ(columns(pooled), 12u);
  EXPECT_EQ(program.slots()[static_cast<uint32_t>(pooled)].row_class, TENON_ROWS_SEQUENCES);
}

TEST(ProgramBuilder, RefusesRowwiseOperationsThatDoNotFit) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 12));
  const Slot five = op::linear(b, x, b.weight("w5", Format::F32, 5, 12));
  const Slot tall = b.weight("tall", Format::F32, 2, 12);
  const Slot frequencies = b.constant("f", kFrequencies);
  const Slot angles = op::rope_angles(b, frequencies, 1.0f);
  expect_refused([&] { op::embed(b, tall, 2); }, "unknown source");
  expect_refused([&] { b.position_parts(3); }, "after the first operation");
  const auto parts = [&](const std::vector<double>& values) {
    expect_refused([&] { op::rope_angles(b, frequencies, 1.0f, b.constant("parts", values)); },
                   "part");
  };
  parts({0.0, 1.0});  // positions have one part
  parts({-1.0, 0.0});
  parts({0.5, 0.0});
  parts({0.0, 0.0, 0.0});
  expect_refused([&] { op::rope(b, x, angles, TENON_ROPE_HALVES, 6, 3); },
                 "do not fit a head of 6");
  expect_refused([&] { op::glu(b, {.alpha = NAN}, x, x); }, "alpha is no number");
  expect_refused([&] { op::glu(b, {.activation = TENON_ACTIVATION_RELU, .alpha = 2.0f}, x, x); },
                 "only SILU");
  expect_refused([&] { op::glu(b, {.limit = -1.0f}, x, x); }, "limit is negative");
  expect_refused([&] { op::glu(b, {.up_offset = INFINITY}, x, x); }, "up_offset");
  expect_refused([&] { op::glu(b, TENON_ACTIVATION_SIGMOID, x, x); }, "unknown activation");
  expect_refused([&] { op::activate(b, 11, x); }, "unknown activation");
  expect_refused([&] { op::signed_root(b, x, -1.0f); }, "epsilon");
  expect_refused([&] { op::softmax(b, x, 5); }, "segments of 5");
  expect_refused([&] { op::xielu(b, {.beta = NAN}, x); }, "parameter of XIELU");
  expect_refused([&] { op::add(b, x, tall); }, "has 2 rows");
  expect_refused([&] { op::mul(b, x, tall); }, "has 2 rows");
  expect_refused([&] { op::mul(b, x, five); }, "12 columns are not 5 whole pieces");
  expect_refused([&] { op::sigmoid_gate(b, x, five); }, "12 columns are not 5 whole pieces");
  expect_refused([&] { op::sum_segments(b, x, 0); }, "segments of 0");
  expect_refused([&] { op::sum_segments(b, x, 5); }, "segments of 5");
  expect_refused([&] { op::l2_norm(b, x, -1.0f); }, "epsilon");
  expect_refused([&] { op::l2_norm(b, x, 1.0f, 5); }, "segments of 5");
  expect_refused([&] { op::slice(b, x, 5, 0, 1); }, "segments of 5");
  expect_refused([&] { op::slice(b, x, 6, 0, 0); }, "0 columns from 0");
  expect_refused([&] { op::slice(b, x, 6, 5, 2); }, "2 columns from 5");
  expect_refused([&] { op::slice(b, x, 6, UINT32_MAX, 2); }, "of segments of 6");
  expect_refused([&] { op::concat(b, x, x, 0); }, "0 whole segments");
  expect_refused([&] { op::concat(b, x, five, 2); }, "5 columns are not 2 whole segments");
  expect_refused([&] { op::concat_to_each(b, five, x, 2); }, "5 columns are not 2 whole segments");
  expect_refused([&] { op::linear_heads(b, x, tall, 0); }, "0 heads do not share");
  expect_refused([&] { op::linear_heads(b, x, tall, 2); }, "not 2 times as many");
  expect_refused([&] { op::position_scale(b, x, NAN, 1); }, "scale is no number");
  expect_refused([&] { op::position_scale(b, x, 1.0f, 0); }, "length is 0");
  expect_refused([&] { op::position_scale(b, op::gather_rows(b, x), 1.0f, 1); }, "wrong rows");
  expect_refused([&] { op::scale(b, x, 1.0f, NAN); }, "offset is no number");
  expect_refused([&] { op::mix_streams(b, x, {.streams = 0}); }, "12 columns are not 0 streams");
  expect_refused([&] { op::mix_streams(b, x, {.streams = 5}); }, "12 columns are not 5 streams");
  expect_refused([&] { op::mix_streams(b, x, {.streams = 4, .results = 0}); }, "no results");
  expect_refused([&] { op::mix_streams(b, x, {.streams = 4, .results = 2}); }, "without a matrix");
  expect_refused([&] { op::mix_streams(b, x, {.streams = 4, .matrix = five}); }, "expected 4");
  const Slot three = op::slice(b, x, 12, 0, 3);
  expect_refused([&] { op::mix_streams(b, x, {.streams = 4, .added = three}); }, "come together");
  expect_refused(
      [&] { op::mix_streams(b, x, {.streams = 4, .results = 4, .added = five, .factors = three}); },
      "expected 3");
  expect_refused([&] { op::mix_streams(b, x, {.streams = 4, .added = three, .factors = three}); },
                 "expected 1");
  expect_refused([&] { op::sinkhorn(b, x, {.size = 3}); }, "no matrix [3, 3]");
  const Slot nine = op::slice(b, x, 12, 0, 9);
  expect_refused([&] { op::sinkhorn(b, nine, {.size = 3, .iterations = 0}); }, "no iterations");
  expect_refused([&] { op::sinkhorn(b, nine, {.size = 3, .epsilon = -1.0f}); }, "epsilon");
  expect_refused([&] { op::pool(b, x, 3); }, "unknown kind");
  expect_refused([&] { op::pool(b, op::gather_rows(b, x), TENON_POOL_MEAN); }, "wrong rows");
}

TEST(ProgramBuilder, NgramRowsStayWithinTheirTableAndTheTokensThatStepsBring) {
  ProgramBuilder b;
  const Slot table = b.weight("e", Format::F32, 10, 4);
  const std::vector<int64_t> multipliers = {3, 5, 7};
  const auto rows = [&](const backends::NgramHead& head, int32_t end = 0) {
    return op::ngram_rows(b, table,
                          {.multipliers = multipliers, .heads = {{1, 0, 10}, head}, .end = end});
  };
  for (const backends::NgramHead& head : {backends::NgramHead{0, 0, 1},
                                          {4, 0, 1},
                                          {1, 0, 0},
                                          {1, 0, 11},
                                          {1, 10, 1},
                                          {1, UINT64_MAX, 1}}) {
    expect_refused([&] { rows(head); }, "leaves the 10 rows");
  }
  expect_refused([&] { rows({3, 4, 6}, -1); }, "no token");
  const std::vector<int64_t> many(17, 1);
  expect_refused(
      [&] {
        op::ngram_rows(b, table, {.multipliers = many, .heads = {{1, 0, 10}}});
      },
      "not [1, 1 to 16]");
  const Slot out = rows({3, 4, 6});
  Program program = std::move(b).finish(op::gather_rows(b, out), {});
  EXPECT_EQ(program.view().token_history, 2u);
  EXPECT_EQ(program.slots()[static_cast<uint32_t>(out)].columns, 8u);
  tenon_program less = program.view();
  less.token_history = 1;
  expect_refused([&] { verify_program(less); }, "looks back 2 tokens, steps bring 1");
}

TEST(ProgramBuilder, PositionsHaveOneOrThreeParts) {
  ProgramBuilder b;
  b.position_parts(2);
  const Slot x = op::gather_rows(b, op::embed(b, b.weight("e", Format::F32, 4, 8)));
  expect_refused([&] { (void)std::move(b).finish(x, {}); }, "positions of 2 parts");
}

/// Activations for recurrent operations over a state of 1,000 values.
struct Recurrent {
  ProgramBuilder b;
  uint32_t group = b.state_group(2, 1000);
  Slot x(const char* name, uint64_t columns) {
    return op::embed(b, b.weight(name, Format::F32, 4, columns));
  }
  Slot weight(const char* name, uint64_t rows, uint64_t columns) {
    return b.weight(name, Format::F32, rows, columns);
  }
};

TEST(ProgramBuilder, GivesRecurrentOperationsTheirShapes) {
  Recurrent r;
  const Slot x = r.x("x", 12);
  const Slot shift = op::token_shift(r.b, x, {r.group, 0, 0});
  const Slot conv = op::conv(r.b, x, r.weight("w", 12, 4), kNoSlot, {r.group, 0, 12});
  const Slot heads = r.x("heads", 3);
  const Slot scan = op::ssm_scan(r.b, {x, heads, r.weight("a", 3, 1), heads, heads, kNoSlot},
                                 {{r.group, 0, 48}, 3, 3, 1});
  const Slot keys = r.x("keys", 10);
  const Slot twos = r.x("twos", 2);
  // 2 heads of 10 keys and 6 values: 120 values, at the end of the state.
  const Slot rule =
      op::delta_rule(r.b, {keys, keys, x, twos, twos}, {{r.group, 0, 880}, 1, 2, true, 1.0f});
  const Slot wkv = op::wkv7(r.b, {x, x, x, x, x, x}, 3, {r.group, 1, 952});
  (void)rule;
  const Slot bonus = r.weight("bonus", 1, 12);
  const Slot sixth = op::wkv6(r.b, {x, x, x, x, bonus}, 3, {r.group, 1, 904});
  const Slot sum =
      op::add(r.b, op::add(r.b, op::add(r.b, shift, conv), op::add(r.b, scan, wkv)), sixth);
  EXPECT_NO_THROW((void)std::move(r.b).finish(op::gather_rows(r.b, sum), {}));
}

TEST(ProgramBuilder, RefusesRecurrentOperationsThatDoNotFit) {
  Recurrent r;
  ProgramBuilder& b = r.b;
  const Slot x = r.x("x", 12);
  const Slot three = r.x("three", 3);
  const Slot six = r.x("six", 6);
  const Slot wide = r.x("wide", 1001);
  const StatePlace place{r.group, 0, 0};
  expect_refused([&] { op::token_shift(b, wide, place); },
                 "1001 values from 0 on of a state of 1000");
  expect_refused([&] { op::token_shift(b, x, {r.group, 0, 989}); }, "12 values from 989 on");
  expect_refused([&] { op::token_shift(b, x, {r.group, 0, 4000000000u}); }, "from 4000000000 on");
  expect_refused([&] { op::token_shift(b, x, {r.group, 2, 0}); }, "no such layer");
  expect_refused([&] { op::token_shift(b, x, {7, 0, 0}); }, "group does not exist");
  expect_refused([&] { op::token_shift(b, op::gather_rows(b, x), place); }, "wrong rows");
  const uint32_t positions = b.cache_group({1, 1, 12, 12, TENON_TYPE_F32, 16});
  expect_refused([&] { op::token_shift(b, x, {positions, 0, 0}); }, "positions, not states");
  expect_refused([&] { op::kv_write(b, x, x, r.group, 0); }, "states, not positions");
  expect_refused([&] { op::attention(b, x, {.group = r.group, .heads = 1}); },
                 "states, not positions");

  expect_refused([&] { op::conv(b, x, r.weight("w", 11, 4), kNoSlot, place); },
                 "filters for 11 columns");
  expect_refused([&] { op::conv(b, x, r.weight("w12", 12, 4), r.weight("bias", 1, 4), place); },
                 "expected [1, 12]");

  const Slot a = r.weight("a", 3, 2);
  const auto scan = [&](const SsmScanInputs& in, uint32_t heads, uint32_t groups, uint32_t size) {
    return [=, &b] { op::ssm_scan(b, in, {place, heads, groups, size}); };
  };
  const SsmScanInputs in{x, three, a, six, six, kNoSlot};
  EXPECT_NO_THROW(scan(in, 3, 3, 2)());
  expect_refused(scan(in, 0, 1, 2), "not 0 heads");
  expect_refused(scan(in, 5, 1, 2), "not 5 heads");
  expect_refused(scan(in, 3, 2, 2), "3 heads do not share 2 groups");
  expect_refused(scan(in, 3, 0, 2), "do not share 0 groups");
  expect_refused(scan(in, 3, 3, 0), "no columns");
  expect_refused(scan(in, 3, 3, 3), "is [3, 2], expected [3, 1 or 3]");
  expect_refused(scan(in, 3, 1, 2), "has 6 columns, expected 2");
  expect_refused(scan({x, six, a, six, six, kNoSlot}, 3, 3, 2), "has 6 columns, expected 3");
  expect_refused(scan({x, three, a, six, six, a}, 3, 3, 2), "expected [1, 3]");

  const auto rule = [&](const DeltaRuleInputs& rows, uint32_t key_heads, uint32_t value_heads) {
    return [=, &b] { op::delta_rule(b, rows, {place, key_heads, value_heads, false, 1.0f}); };
  };
  const DeltaRuleInputs keys{six, six, x, six, six};
  EXPECT_NO_THROW(rule(keys, 3, 6)());
  EXPECT_NO_THROW(rule({six, six, x, x, six}, 3, 6)());  // a decay for each of two keys
  expect_refused(rule(keys, 0, 6), "not 0 heads");
  expect_refused(rule(keys, 3, 5), "not 5 heads");
  expect_refused(rule(keys, 6, 3), "3 value heads do not share 6 key heads");
  expect_refused(rule({six, x, x, six, six}, 3, 6), "has 12 columns, expected 6");
  expect_refused(rule({six, six, x, three, six}, 3, 6), "3 decays for 6 heads of 2 keys");
  expect_refused(rule({six, six, x, six, three}, 3, 6), "has 3 columns, expected 6");
  expect_refused([&] { op::delta_rule(b, keys, {place, 3, 6, false, NAN}); }, "scale is no number");

  expect_refused([&] { op::wkv7(b, {x, x, x, x, x, x}, 0, place); }, "not 0 heads");
  expect_refused([&] { op::wkv7(b, {x, x, x, x, x, x}, 5, place); }, "not 5 heads");
  expect_refused(
      [&] {
        op::wkv7(b, {x, x, x, x, x, six}, 3, place);
      },
      "has 6 columns, expected 12");

  EXPECT_NO_THROW(op::wkv6(b, {x, x, x, x, kNoSlot}, 3, place));
  expect_refused([&] { op::wkv6(b, {x, x, x, x, kNoSlot}, 0, place); }, "not 0 heads");
  expect_refused([&] { op::wkv6(b, {x, x, x, x, kNoSlot}, 5, place); }, "not 5 heads");
  expect_refused(
      [&] {
        op::wkv6(b, {x, x, x, six, kNoSlot}, 3, place);
      },
      "has 6 columns, expected 12");
  expect_refused(
      [&] {
        op::wkv6(b, {x, x, x, x, r.weight("u", 1, 4)}, 3, place);
      },
      "expected [1, 12]");
  expect_refused(
      [&] {
        op::wkv6(b, {x, x, x, x, kNoSlot}, 1, {r.group, 0, 900});
      },
      "144 values from 900 on");
}

TEST(ProgramBuilder, FinishRefusesLogitsOfTokenRows) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  expect_refused([&] { (void)std::move(b).finish(x, {}); }, "logits are no result of R rows");
}

}  // namespace
}  // namespace tenon
