// Operations on rows: a row has the same bits for all slices of its sequence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "program/operations.h"
#include "tests/conformance/program_runner.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kRowLength = 41;

Slot vector(ProgramBuilder& b, const char* name, uint64_t columns) {
  return b.weight(name, Format::F32, 1, columns);
}

/// Outputs of experts routed with groups and biases.
Slot experts(ProgramBuilder& b, Slot x, Format format) {
  const Slot router = b.weight("router", Format::F32, 8, kWidth);
  const Route route = op::moe_route(b, op::linear(b, x, router),
                                    {.used = 3,
                                     .scoring = TENON_MOE_SIGMOID,
                                     .normalise = true,
                                     .min_sum = 1e-9f,
                                     .groups = 4,
                                     .groups_used = 2,
                                     .selection_bias = vector(b, "s", 8)});
  const Slot w = b.weight("experts", format, 8 * kWidth, kWidth);
  const Slot bias = b.weight("experts.bias", Format::F32, 8, kWidth);
  const Slot each = op::moe_linear(b, x, route, w, {8, false, ExpertWeights::Inputs, bias});
  return op::moe_linear(b, each, route, w, {8, true, ExpertWeights::Outputs, bias});
}

/// All operations on rows, in sequence.
Program all_of_them(Format format) {
  ProgramBuilder b;
  Slot x = op::embed(b, b.weight("table_x", Format::F32, kVocab, kWidth));
  x = op::add(b, x,
              op::embed(b, b.weight("table_p", Format::F32, 64, kWidth), TENON_EMBED_POSITIONS));
  x = op::add(b, op::position_scale(b, op::rms_norm(b, x, kNoSlot, 1e-5f), 0.1f, 4),
              vector(b, "v", kWidth));
  const Slot heads = op::linear_heads(b, x, b.weight("h", format, 3 * 64, 32), 3);
  const Slot angles = op::rope_angles(b, b.constant("f", std::vector{1.0, 0.1, 0.01}), 1.0f);
  const Slot q = op::rope(b, op::l2_norm(b, heads, 1e-6f, 64), angles, TENON_ROPE_HALVES, 64, 5);
  const Slot pieces =
      op::concat_to_each(b, op::slice(b, q, 64, 3, 20), op::sum_segments(b, q, 16), 3);
  x = op::concat(b, x, op::activate(b, TENON_ACTIVATION_SOFTPLUS, pieces));
  x = op::linear(b, x, b.weight("down", Format::F32, kWidth, kWidth + 96));
  x = op::layer_norm(b, op::mul(b, x, op::sigmoid_gate(b, x, op::slice(b, x, kWidth, 0, 6))),
                     kNoSlot, kNoSlot, 1e-5f);
  const Slot shares = op::sinkhorn(b, op::slice(b, x, kWidth, 0, 9), {.size = 3, .iterations = 3});
  x = op::mix_streams(b, x,
                      {.streams = 3,
                       .results = 3,
                       .matrix = shares,
                       .added = op::slice(b, x, kWidth, 5, 32),
                       .factors = op::scale(b, op::slice(b, x, kWidth, 40, 3), 0.5f, 0.25f)});
  x = op::add(b, x,
              experts(b, op::glu(b, GluOptions{.limit = 1.5f, .up_offset = 1.0f}, x, x), format));
  return std::move(b).finish(op::gather_rows(b, x), {.max_tokens = 64, .max_outputs = 64});
}

std::vector<float> rows_in_slices(const Program& program, uint32_t slice) {
  Runner runner(target(), program);
  std::vector<float> all;
  for (uint32_t first = 0; first < kRowLength; first += slice) {
    const uint32_t count = std::min(slice, kRowLength - first);
    const std::vector<float> part = runner.run({{{0, tokens(count, kVocab, first)}}});
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(SameBits, OfRowwiseOperations) {
  if (!is_batch_invariant()) {
    GTEST_SKIP() << "the device promises no bits";
  }
  for (const Format format : {Format::F32, Format::F16, Format::BF16, Format::Q8_0, Format::Q4_0}) {
    const Program program = all_of_them(format);
    const std::vector<float> whole = rows_in_slices(program, kRowLength);
    for (const uint32_t slice : {1u, 2u, 7u, 17u}) EXPECT_EQ(rows_in_slices(program, slice), whole);
  }
}

/// Bits of each row of x W^T, for few rows of x, for many, and for one.
void check_linear_bits(Format format, uint64_t rows, uint64_t columns) {
  SCOPED_TRACE(testing::Message() << find_format(format)->name << " [" << rows << ", " << columns
                                  << "]");
  constexpr uint32_t kMany = 140;
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("table_x", Format::F32, kVocab, columns));
  const Slot y = op::linear(b, x, b.weight("w", format, rows, columns), vector(b, "bias", rows));
  const Program program = std::move(b).finish(op::gather_rows(b, y), {kMany, kMany});
  Runner runner(target(), program, {.host = {}, .max_positions = 2 * kMany});
  const std::vector<float> all = runner.run({{{0, tokens(kMany, kVocab)}}});
  ASSERT_EQ(all.size(), kMany * rows);
  for (const auto& [first, count] : {std::pair{0u, 1u}, {66u, 1u}, {1u, 8u}, {107u, 33u}}) {
    const std::vector<float> few = runner.run({{{1, tokens(count, kVocab, first)}}});
    const auto own = all.begin() + static_cast<ptrdiff_t>(first * rows);
    EXPECT_EQ(few, std::vector<float>(own, own + static_cast<ptrdiff_t>(few.size())))
        << first << ", " << count;
  }
}

/// Kernels for few and for many rows, with sums over parts of the columns: a row has the same bits
/// alone, among eight and among many.
TEST(LinearBits, OfARowAmongManyOthers) {
  if (!is_batch_invariant()) {
    GTEST_SKIP() << "the device promises no bits";
  }
  for (const Format format :
       {Format::F16, Format::BF16, Format::Q8_0, Format::Q4_K, Format::Q6_K, Format::F32}) {
    check_linear_bits(format, 37, 2304);  // parts of unequal length
  }
  check_linear_bits(Format::Q4_K, 13, 4352);  // few rows, which several groups may share
}

}  // namespace
}  // namespace tenon::conformance
