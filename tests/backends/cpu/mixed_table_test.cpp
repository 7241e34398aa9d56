// Tables with entries for some operations: what they support, and results where plain forms and
// entries hand rows to each other.
#include <gtest/gtest.h>

#include "tests/backends/cpu/table_runner.h"

namespace tenon::cpu::mixed_table {
namespace {

constexpr uint32_t kVocab = 70;
constexpr uint64_t kWidth = 64;
constexpr StepLimits kLimits{.max_tokens = 40, .max_outputs = 40};

/// A mixture of 5 experts, of which each row uses 2.
Program mixture() {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("x", Format::F32, kVocab, kWidth));
  const Slot logits = op::linear(b, x, b.weight("router", Format::F32, 5, kWidth));
  const Route route = op::moe_route(b, logits, {.used = 2});
  const auto experts = [&](const char* name, uint64_t rows, uint64_t columns) {
    return b.weight(name, Format::F32, 5 * rows, columns);
  };
  const Slot gate = op::moe_linear(b, x, route, experts("gate", 96, kWidth), 5);
  const Slot up = op::moe_linear(b, x, route, experts("up", 96, kWidth), 5);
  const Slot inner = op::glu(b, TENON_ACTIVATION_SILU, gate, up);
  const Slot sum = op::moe_linear_sum(b, inner, route, experts("down", kWidth, 96), 5);
  return std::move(b).finish(op::gather_rows(b, op::add(b, x, sum)), kLimits);
}

void expect_near(std::span<const float> result, std::span<const float> expected) {
  ASSERT_EQ(result.size(), expected.size());
  for (size_t i = 0; i < result.size(); ++i) ASSERT_NEAR(result[i], expected[i], 1e-4f) << i;
}

TEST(MixedTable, ExpertsReadTheRowsOfAPlainRoute) {
  const CpuOperation* const entries[] = {&ops::embed, &ops::linear, &ops::moe_linear, &ops::glu,
                                         &ops::add};
  const OperationTable table(entries);
  const Program program = mixture();
  TableRunner all(program, all_operations());
  TableRunner mixed(program, table);
  for (const uint32_t count : {1u, 3u, 40u, 2u}) {
    expect_near(mixed.run(0, count), all.run(0, count));
  }
}

TEST(MixedTable, PlainExpertsReadTheRowsOfARoute) {
  const CpuOperation* const entries[] = {&ops::embed, &ops::linear, &ops::moe_route, &ops::glu};
  const OperationTable table(entries);
  const Program program = mixture();
  TableRunner all(program, all_operations());
  TableRunner mixed(program, table);
  for (const uint32_t count : {1u, 40u, 2u}) {
    expect_near(mixed.run(0, count), all.run(0, count));
  }
}

/// The panels of a weight that is one matrix for `linear` and two for `linear_heads` fit one of
/// them.
Program two_readers_of_a_matrix() {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("x", Format::F32, kVocab, 2 * kWidth));
  const Slot weight = b.weight("w", Format::F32, kWidth, kWidth);
  const Slot whole = op::linear(b, op::slice(b, x, 2 * kWidth, 0, kWidth), weight);
  const Slot heads = op::linear_heads(b, x, weight, 2);
  return std::move(b).finish(op::gather_rows(b, op::add(b, whole, heads)), kLimits);
}

TEST(MixedTable, PlainReadersDoNotBindTheLayoutOfAMatrix) {
  const CpuOperation* const entries[] = {&ops::embed, &ops::linear_heads, &ops::add, &ops::slice};
  const OperationTable table(entries);
  const OperationTable none{{}};
  const Program program = two_readers_of_a_matrix();
  EXPECT_FALSE(supports_all(program, all_operations()));
  ASSERT_TRUE(supports_all(program, table));
  TableRunner plain(program, none);
  TableRunner mixed(program, table);
  for (const uint32_t count : {1u, 40u}) expect_near(mixed.run(0, count), plain.run(0, count));
}

/// A conv, which transposes its table, beside a linear that does not.
Program two_readers_of_a_table() {
  constexpr uint32_t kTaps = 4;
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("x", Format::F32, kVocab, kTaps));
  const Slot weight = b.weight("w", Format::F32, kTaps, kTaps);
  const uint32_t group = b.state_group(1, (kTaps - 1) * kTaps);
  const Slot conv = op::conv(b, x, weight, kNoSlot, {.group = group});
  const Slot product = op::linear(b, x, weight);
  return std::move(b).finish(op::gather_rows(b, op::add(b, conv, product)), kLimits);
}

TEST(MixedTable, PlainReadersDoNotBindTheOrderOfATable) {
  const CpuOperation* const entries[] = {&ops::embed, &ops::conv, &ops::add};
  const OperationTable table(entries);
  const OperationTable none{{}};
  const Program program = two_readers_of_a_table();
  EXPECT_FALSE(supports_all(program, all_operations()));
  ASSERT_TRUE(supports_all(program, table));
  TableRunner plain(program, none);
  TableRunner mixed(program, table);
  for (const uint32_t count : {1u, 40u}) expect_near(mixed.run(0, count), plain.run(0, count));
}

}  // namespace
}  // namespace tenon::cpu::mixed_table
