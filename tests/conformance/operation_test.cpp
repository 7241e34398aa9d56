// Every operation but attention, alone, over the shapes that kernels stumble on: no row, one, odd
// counts, one more than a tile; columns of one, of odd counts, of whole vectors and of one more.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "quant/formats.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kVocab = 67;
constexpr uint32_t kTokenCounts[] = {0, 1, 2, 7, 65};
constexpr uint64_t kWidths[] = {1, 3, 15, 16, 17, 32, 33, 96, 320};
constexpr StepLimits kLimits{65, 70};

/// x [T, width], different in every row.
Slot input(ProgramBuilder& b, uint64_t width, std::string_view name = "table_x") {
  return b.embed(b.weight(name, Format::F32, kVocab, width));
}

std::vector<StepPlan> all_counts() {
  std::vector<StepPlan> steps;
  for (const uint32_t count : kTokenCounts) steps.push_back(one_sequence(count, kVocab));
  return steps;
}

/// The operations that `make` puts on x, once before the rows are gathered and once after, so that
/// the last operation writes the logits itself.
void check(uint64_t width, double tolerance,
           const std::function<Slot(ProgramBuilder&, Slot x, bool gathered)>& make) {
  SCOPED_TRACE(testing::Message() << "width " << width);
  {
    ProgramBuilder b;
    const Slot x = input(b, width);
    const Slot out = b.gather_rows(make(b, x, false));
    expect_like_reference(std::move(b).finish(out, kLimits), all_counts(), tolerance);
  }
  ProgramBuilder b;
  const Slot x = b.gather_rows(input(b, width));
  const Slot out = make(b, x, true);
  expect_like_reference(std::move(b).finish(out, kLimits), all_counts(), tolerance);
}

/// A second operand [. , width] with the rows of the first.
Slot second(ProgramBuilder& b, uint64_t width, bool gathered) {
  const Slot y = input(b, width, "table_y");
  return gathered ? b.gather_rows(y) : y;
}

TEST(GatherRows, TakesRowsInAnyOrderAndAgain) {
  using Rows = std::vector<uint32_t>;
  for (const uint64_t width : kWidths) {
    ProgramBuilder b;
    const Slot out = b.gather_rows(input(b, width));
    const Program program = std::move(b).finish(out, kLimits);
    std::vector<StepPlan> steps;
    for (const Rows& rows : {Rows{}, Rows{4}, Rows{4, 0, 2}, Rows{3, 3, 3, 0, 3}}) {
      steps.push_back(one_sequence(5, kVocab));
      steps.back().rows = rows;
    }
    expect_like_reference(program, steps, 0);
  }
}

TEST(Embed, DecodesRowsOfEveryFormat) {
  for (const FormatInfo& format : kFormats) {
    if (!format.weight) continue;
    SCOPED_TRACE(format.name);
    for (const uint64_t blocks : {1, 3}) {
      ProgramBuilder b;
      const Slot table = b.weight("table", format.id, 37, blocks * format.block_values);
      const Slot out = b.gather_rows(b.embed(table));
      const std::vector<StepPlan> steps = {one_sequence(0, 37), one_sequence(1, 37),
                                           one_sequence(65, 37)};
      expect_like_reference(std::move(b).finish(out, kLimits), steps, 0);
    }
  }
}

/// x W^T of a weight [rows, columns].
void check_linear(const FormatInfo& format, uint64_t rows, uint64_t columns) {
  SCOPED_TRACE(testing::Message() << format.name << " [" << rows << ", " << columns << "]");
  check(columns, linear_tolerance(format.id), [&](ProgramBuilder& b, Slot x, bool gathered) {
    // Without and with a bias.
    const Slot bias = gathered ? b.weight("bias", Format::F32, 1, rows) : kNoSlot;
    return b.linear(x, b.weight("w", format.id, rows, columns), bias);
  });
}

class LinearFormat : public testing::TestWithParam<const FormatInfo*> {};

TEST_P(LinearFormat, MultipliesByRows) {
  const FormatInfo& format = *GetParam();
  const uint64_t block = format.block_values;
  if (block == 1) {
    for (const uint64_t columns : kWidths) check_linear(format, 33, columns);
    for (const uint64_t rows : {1, 3, 32, 95, 161}) check_linear(format, rows, 96);
    return;
  }
  check_linear(format, 33, block);
  for (const uint64_t rows : {1, 3, 16, 32, 65}) check_linear(format, rows, 3 * block);
  if (block == 32) check_linear(format, 47, 320);
}

std::vector<const FormatInfo*> weight_formats() {
  std::vector<const FormatInfo*> formats;
  for (const FormatInfo& format : kFormats) {
    if (format.weight) formats.push_back(&format);
  }
  return formats;
}
INSTANTIATE_TEST_SUITE_P(Formats, LinearFormat, testing::ValuesIn(weight_formats()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(Linear, LongRowsOfManyTokens) {
  for (const auto& [format, columns] :
       {std::pair{Format::F32, 2048}, {Format::F16, 2048}, {Format::Q8_0, 8192}}) {
    check_linear(*find_format(format), 34, static_cast<uint64_t>(columns));
  }
}

TEST(Linear, BiasOfAnotherFormat) {
  check(64, float_tolerance(), [](ProgramBuilder& b, Slot x, bool) {
    return b.linear(x, b.weight("w", Format::F32, 31, 64), b.weight("bias", Format::F16, 1, 31));
  });
}

TEST(RmsNorm, OfRowsAndSegments) {
  for (const uint64_t width : kWidths) {
    for (const uint64_t parts : {1, 2, 5}) {
      check(width * parts, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
        return b.rms_norm(x, b.weight("norm", Format::F32, 1, width), 1e-5f,
                          static_cast<uint32_t>(width));
      });
    }
  }
}

TEST(LayerNorm, OfRowsAndSegmentsWithAndWithoutBias) {
  for (const uint64_t width : kWidths) {
    for (const uint64_t parts : {1, 3}) {
      check(width * parts, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
        const Slot bias = gathered ? b.weight("bias", Format::F16, 1, width) : kNoSlot;
        return b.layer_norm(x, b.weight("norm", Format::BF16, 1, width), bias, 1e-6f,
                            static_cast<uint32_t>(width));
      });
    }
  }
}

TEST(Norm, OfRowsNearZeroAndOfLargeOnes) {
  for (const float factor : {1e-15f, 1e15f}) {
    check(96, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
      return b.rms_norm(b.scale(x, factor), b.weight("norm", Format::F32, 1, 96), 1e-6f);
    });
  }
}

TEST(Add, TwoRowsOrARowToItself) {
  for (const uint64_t width : kWidths) {
    check(width, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
      return b.add(x, second(b, width, gathered));
    });
    check(width, float_tolerance(), [](ProgramBuilder& b, Slot x, bool) { return b.add(x, x); });
  }
}

TEST(Scale, ByPositiveNegativeZero) {
  for (const uint64_t width : kWidths) {
    for (const float factor : {0.125f, -3.7f, 0.0f}) {
      check(width, float_tolerance(),
            [&](ProgramBuilder& b, Slot x, bool) { return b.scale(x, factor); });
    }
  }
}

TEST(SoftCap, NearZeroAndSaturated) {
  for (const uint64_t width : kWidths) {
    for (const float cap : {0.01f, 1.0f, 30.0f}) {
      check(width, float_tolerance(),
            [&](ProgramBuilder& b, Slot x, bool) { return b.soft_cap(x, cap); });
    }
  }
}

TEST(Glu, EveryActivation) {
  for (uint32_t activation = 0; activation <= TENON_ACTIVATION_RELU; ++activation) {
    for (const uint64_t width : kWidths) {
      // Scaled so that the activations also saturate.
      for (const float factor : {1.0f, 40.0f}) {
        SCOPED_TRACE(testing::Message() << "activation " << activation << " x " << factor);
        check(width, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
          return b.glu(activation, b.scale(x, factor), second(b, width, gathered));
        });
      }
    }
  }
}

TEST(Glu, OfARowWithItself) {
  check(33, float_tolerance(),
        [](ProgramBuilder& b, Slot x, bool) { return b.glu(TENON_ACTIVATION_SILU, x, x); });
}

/// `pairs` frequencies as models have them.
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
      const Slot angles = b.rope_angles(b.constant("frequencies", frequencies(s.pairs)), 1.25f);
      const Slot x = input(b, uint64_t{s.heads} * s.head_dim);
      const Slot out = b.gather_rows(b.rope(x, angles, style, s.head_dim));
      // Positions go on from step to step.
      expect_like_reference(std::move(b).finish(out, kLimits), all_counts(), float_tolerance());
    }
  }
}

TEST(RopeAngles, FarPositionsKeepTheirAngle) {
  // High frequencies stand for far positions: the angle is the product of the two.
  ProgramBuilder b;
  const Slot out =
      b.gather_rows(b.rope_angles(b.constant("frequencies", std::vector{1e6, 1e3, 1.0}), 1.0f));
  expect_like_reference(std::move(b).finish(out, kLimits), all_counts(), float_tolerance());
}

}  // namespace
}  // namespace tenon::conformance
