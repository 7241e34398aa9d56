// Pooling: a row per sequence of a step, alone and beside others.
#include <gtest/gtest.h>

#include "program/operations.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

TEST(Pool, OfSequencesSideBySide) {
  for (const uint32_t kind : {TENON_POOL_MEAN, TENON_POOL_FIRST, TENON_POOL_LAST}) {
    for (const uint64_t width : {1, 15, 16, 33, 320}) {
      SCOPED_TRACE(testing::Message() << "kind " << kind << ", width " << width);
      ProgramBuilder b;
      const Slot pooled =
          op::pool(b, op::embed(b, b.weight("table_x", Format::F32, kVocab, width)), kind);
      b.result(pooled);
      b.result(op::linear(b, pooled, b.weight("w", Format::F32, 3, width)));
      const Program program = std::move(b).finish(kNoSlot, kLimits);
      const auto part = [](uint32_t sequence, uint32_t count) {
        return Part{sequence, tokens(count, kVocab, 11 * sequence)};
      };
      std::vector<StepPlan> steps(3);
      steps[0].parts = {part(0, 1)};
      steps[1].parts = {part(1, 3), part(2, 1), part(3, 0), part(4, 33)};
      steps[2].parts = {part(5, 65)};
      expect_like_reference(program, steps, float_tolerance());
    }
  }
}

TEST(SameBits, OfPooledSequences) {
  if (!is_batch_invariant()) {
    GTEST_SKIP() << "the device promises no bits";
  }
  for (const uint32_t kind : {TENON_POOL_MEAN, TENON_POOL_FIRST, TENON_POOL_LAST}) {
    ProgramBuilder b;
    const Slot x = op::embed(b, b.weight("table_x", Format::F32, kVocab, kWidth));
    b.result(op::linear(b, op::pool(b, x, kind), b.weight("w", Format::Q8_0, 33, kWidth)));
    const Program program = std::move(b).finish(kNoSlot, {.max_tokens = 64, .max_outputs = 64});
    const auto part = [](uint32_t sequence) {
      return Part{sequence, tokens(1 + 5 * sequence, kVocab, 9 * sequence)};
    };
    std::vector<float> alone;
    for (uint32_t s = 0; s < 4; ++s) {
      const std::vector<float> row = Runner(target(), program).run({{part(s)}});
      alone.insert(alone.end(), row.begin(), row.end());
    }
    EXPECT_EQ(Runner(target(), program).run({{part(0), part(1), part(2), part(3)}}), alone);
  }
}

}  // namespace
}  // namespace tenon::conformance
