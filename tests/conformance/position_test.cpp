// Operations on positions: angles and rotations, multi-part positions, position embeddings.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "program/operations.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

/// x [T, width] with distinct rows.
Slot random_x(ProgramBuilder& b, uint64_t width) {
  return op::embed(b, b.weight("table_x", Format::F32, kVocab, width));
}

/// `pairs` frequencies like those of models.
std::vector<double> frequencies(uint32_t pairs) {
  std::vector<double> values(pairs);
  for (uint32_t i = 0; i < pairs; ++i) values[i] = std::pow(1e4, -static_cast<double>(i) / pairs);
  return values;
}

TEST(Rope, BothStylesWholeAndPartialHeads) {
  struct Shape {
    uint32_t heads, head_dim, pairs;
  };
  for (const Shape& s : {Shape{1, 2, 1}, Shape{3, 32, 16}, Shape{2, 80, 40}, Shape{5, 48, 24},
                         Shape{4, 80, 16}, Shape{1, 96, 1}, Shape{2, 33, 7}, Shape{1, 320, 160}}) {
    for (const uint32_t style : {TENON_ROPE_ADJACENT, TENON_ROPE_HALVES}) {
      SCOPED_TRACE(testing::Message() << s.heads << " x " << s.head_dim << ", " << s.pairs
                                      << " pairs, style " << style);
      ProgramBuilder b;
      const Slot angles =
          op::rope_angles(b, b.constant("frequencies", frequencies(s.pairs)), 1.25f);
      const Slot x = random_x(b, uint64_t{s.heads} * s.head_dim);
      const Slot out = op::gather_rows(b, op::rope(b, x, angles, style, s.head_dim));
      // Positions continue from step to step.
      expect_like_reference(std::move(b).finish(out, kLimits), all_counts(), float_tolerance());
    }
  }
}

TEST(Rope, FromAnOffsetOfEachHead) {
  struct Shape {
    uint32_t heads, head_dim, offset, pairs;
  };
  for (const Shape& s : {Shape{3, 32, 16, 8}, Shape{2, 33, 1, 16}, Shape{4, 192, 128, 32}}) {
    for (const uint32_t style : {TENON_ROPE_ADJACENT, TENON_ROPE_HALVES}) {
      SCOPED_TRACE(testing::Message() << s.heads << " x " << s.head_dim << " from " << s.offset);
      ProgramBuilder b;
      const Slot angles =
          op::rope_angles(b, b.constant("frequencies", frequencies(s.pairs)), 1.25f);
      const Slot x = random_x(b, uint64_t{s.heads} * s.head_dim);
      b.result(op::gather_rows(b, op::rope(b, x, angles, style, s.head_dim, s.offset)));
      // After a linear, where it may run in place.
      const Slot w = b.weight("w", Format::F32, uint64_t{s.heads} * s.head_dim,
                              uint64_t{s.heads} * s.head_dim);
      b.result(op::gather_rows(
          b, op::rope(b, op::linear(b, x, w), angles, style, s.head_dim, s.offset)));
      expect_like_reference(std::move(b).finish(kNoSlot, kLimits), all_counts(), float_tolerance());
    }
  }
}

TEST(Rope, OfPositionsBeforeAndAfterTheOwn) {
  for (const int32_t before : {-9, -1, 3}) {
    ProgramBuilder b;
    const Slot angles =
        op::rope_angles(b, b.constant("frequencies", frequencies(8)), 1.0f, kNoSlot, before);
    const Slot out =
        op::gather_rows(b, op::rope(b, random_x(b, 48), angles, TENON_ROPE_HALVES, 24));
    expect_like_reference(std::move(b).finish(out, kLimits), all_counts(), float_tolerance());
  }
}

/// `count` distinct positions of three parts.
std::vector<int32_t> three_parts(uint32_t count) {
  std::vector<int32_t> positions;
  for (uint32_t t = 0; t < count; ++t) {
    const auto i = static_cast<int32_t>(t);
    positions.insert(positions.end(), {i, 3 * i + 1, 66 - i});
  }
  return positions;
}

std::vector<StepPlan> all_counts_in_three_parts() {
  std::vector<StepPlan> steps = all_counts();
  for (StepPlan& step : steps) {
    step.positions = three_parts(static_cast<uint32_t>(step.parts[0].tokens.size()));
  }
  return steps;
}

TEST(RopeAngles, TakeTheirPartOfThePosition) {
  for (const bool with_parts : {false, true}) {
    ProgramBuilder b;
    b.position_parts(3);
    const std::vector<double> parts = {0, 2, 1, 0, 2};
    const Slot constant = with_parts ? b.constant("parts", parts) : kNoSlot;
    const Slot angles =
        op::rope_angles(b, b.constant("frequencies", frequencies(5)), 1.0f, constant);
    b.result(op::gather_rows(b, angles));
    b.result(op::gather_rows(b, op::position_scale(b, random_x(b, 3), 0.5f, 4)));
    expect_like_reference(std::move(b).finish(kNoSlot, kLimits), all_counts_in_three_parts(),
                          float_tolerance());
  }
}

TEST(Embed, LooksPositionsUp) {
  for (const uint32_t parts : {1u, 3u}) {
    ProgramBuilder b;
    b.position_parts(parts);
    const Slot table = b.weight("table", Format::Q8_0, 75, 96);
    const Slot out =
        op::gather_rows(b, op::add(b, op::embed(b, table, TENON_EMBED_POSITIONS), random_x(b, 96)));
    expect_like_reference(std::move(b).finish(out, kLimits),
                          parts == 1 ? all_counts() : all_counts_in_three_parts(),
                          float_tolerance());
  }
}

TEST(RopeAngles, FarPositionsKeepTheirAngle) {
  // High frequencies act like far positions: the angle is the product of both.
  ProgramBuilder b;
  const Slot out = op::gather_rows(
      b, op::rope_angles(b, b.constant("frequencies", std::vector{1e6, 1e3, 1.0}), 1.0f));
  expect_like_reference(std::move(b).finish(out, kLimits), all_counts(), float_tolerance());
}

}  // namespace
}  // namespace tenon::conformance
