// Every operation but attention, alone, over difficult shapes: no row, one, odd counts, one more
// than a tile; columns of one, of odd counts, of whole vectors and of one more.
#include <gtest/gtest.h>

#include <functional>

#include "program/operations.h"
#include "quant/formats.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

constexpr uint64_t kWidths[] = {1, 3, 15, 16, 17, 32, 33, 96, 320};

/// x [T, width] with distinct rows.
Slot input(ProgramBuilder& b, uint64_t width, std::string_view name = "table_x") {
  return op::embed(b, b.weight(name, Format::F32, kVocab, width));
}

/// Runs the operations that `make` puts on x, before and after the rows are gathered, so that the
/// last operation also writes the logits itself.
void check(uint64_t width, double tolerance,
           const std::function<Slot(ProgramBuilder&, Slot x, bool gathered)>& make) {
  SCOPED_TRACE(testing::Message() << "width " << width);
  {
    ProgramBuilder b;
    const Slot x = input(b, width);
    const Slot out = op::gather_rows(b, make(b, x, false));
    expect_like_reference(std::move(b).finish(out, kLimits), all_counts(), tolerance);
  }
  ProgramBuilder b;
  const Slot x = op::gather_rows(b, input(b, width));
  const Slot out = make(b, x, true);
  expect_like_reference(std::move(b).finish(out, kLimits), all_counts(), tolerance);
}

/// A second operand [., width] with the rows of the first.
Slot second(ProgramBuilder& b, uint64_t width, bool gathered) {
  const Slot y = input(b, width, "table_y");
  return gathered ? op::gather_rows(b, y) : y;
}

TEST(GatherRows, TakesRowsInAnyOrderAndAgain) {
  using Rows = std::vector<uint32_t>;
  for (const uint64_t width : kWidths) {
    ProgramBuilder b;
    const Slot out = op::gather_rows(b, input(b, width));
    const Program program = std::move(b).finish(out, kLimits);
    std::vector<StepPlan> steps;
    for (const Rows& rows : {Rows{}, Rows{4}, Rows{4, 0, 2}, Rows{3, 3, 3, 0, 3}}) {
      steps.push_back(one_sequence(5, kVocab));
      steps.back().rows = rows;
    }
    expect_like_reference(program, steps, 0);
  }
}

/// True if the target multiplies with weights of this format. Formats of memory are optional: the
/// library decodes them for a device without them.
bool has_format(const FormatInfo& format) {
  if (!is_memory_format(format.id)) return true;
  ProgramBuilder b;
  const Slot x = input(b, format.block_values);
  const Slot y = op::linear(b, x, b.weight("w", format.id, 3, format.block_values));
  const Program program = std::move(b).finish(op::gather_rows(b, y), kLimits);
  return make_device(target())->first_unsupported(program.view()) == program.view().num_ops;
}

TEST(Embed, DecodesRowsOfEveryFormat) {
  for (const FormatInfo& format : kFormats) {
    if (!format.weight || !has_format(format)) continue;
    SCOPED_TRACE(format.name);
    for (const uint64_t blocks : {1, 3}) {
      ProgramBuilder b;
      const Slot table = b.weight("table", format.id, 37, blocks * format.block_values);
      const Slot out = op::gather_rows(b, op::embed(b, table));
      const std::vector<StepPlan> steps = {one_sequence(0, 37), one_sequence(1, 37),
                                           one_sequence(65, 37)};
      expect_like_reference(std::move(b).finish(out, kLimits), steps, 0);
    }
  }
}

/// Checks x W^T for a weight [rows, columns].
void check_linear(const FormatInfo& format, uint64_t rows, uint64_t columns) {
  SCOPED_TRACE(testing::Message() << format.name << " [" << rows << ", " << columns << "]");
  check(columns, linear_tolerance(format.id), [&](ProgramBuilder& b, Slot x, bool gathered) {
    // Without and with a bias.
    const Slot bias = gathered ? b.weight("bias", Format::F32, 1, rows) : kNoSlot;
    return op::linear(b, x, b.weight("w", format.id, rows, columns), bias);
  });
}

class LinearFormat : public testing::TestWithParam<const FormatInfo*> {};

TEST_P(LinearFormat, MultipliesByRows) {
  const FormatInfo& format = *GetParam();
  if (!has_format(format)) GTEST_SKIP() << "the device has no " << format.name;
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

/// Checks heads of [rows, depth]; later operations may be fused with the product.
void check_heads(const FormatInfo& format, uint32_t heads, uint64_t rows, uint64_t depth) {
  SCOPED_TRACE(testing::Message() << heads << " x [" << rows << ", " << depth << "]");
  check(heads * depth, linear_tolerance(format.id), [&](ProgramBuilder& b, Slot x, bool gathered) {
    const Slot w = b.weight("w", format.id, heads * rows, depth);
    const Slot y = op::linear_heads(b, x, w, heads);
    return gathered ? op::scale(b, y, 0.5f) : y;
  });
}

TEST_P(LinearFormat, MultipliesHeadByHead) {
  const FormatInfo& format = *GetParam();
  if (!has_format(format)) GTEST_SKIP() << "the device has no " << format.name;
  const uint64_t block = format.block_values;
  if (block == 1) {
    for (const uint64_t depth : {1, 17, 32, 96}) check_heads(format, 3, 40, depth);
    check_heads(format, 5, 1, 64);
    check_heads(format, 4, 96, 300);
    return;
  }
  for (const uint32_t heads : {1u, 2u, 5u}) check_heads(format, heads, 33, block);
  check_heads(format, 3, 64, 2 * block);
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
    return op::linear(b, x, b.weight("w", Format::F32, 31, 64),
                      b.weight("bias", Format::F16, 1, 31));
  });
}

TEST(RmsNorm, OfRowsAndSegments) {
  for (const uint64_t width : kWidths) {
    for (const uint64_t parts : {1, 2, 5}) {
      check(width * parts, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
        return op::rms_norm(b, x, b.weight("norm", Format::F32, 1, width), 1e-5f,
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
        return op::layer_norm(b, x, b.weight("norm", Format::BF16, 1, width), bias, 1e-6f,
                              static_cast<uint32_t>(width));
      });
    }
  }
}

TEST(Norm, WithoutAWeight) {
  for (const uint64_t width : kWidths) {
    for (const uint64_t parts : {1, 3}) {
      check(width * parts, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
        return op::rms_norm(b, x, kNoSlot, 1e-5f, static_cast<uint32_t>(width));
      });
      check(width * parts, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
        const Slot bias = gathered ? b.weight("bias", Format::F32, 1, width) : kNoSlot;
        return op::layer_norm(b, x, kNoSlot, bias, 1e-5f, static_cast<uint32_t>(width));
      });
    }
  }
}

TEST(L2Norm, OfRowsAndSegments) {
  for (const uint64_t width : kWidths) {
    for (const uint64_t parts : {1, 3}) {
      // The last epsilon exceeds any row's norm.
      for (const float epsilon : {0.0f, 1e-6f, 100.0f}) {
        check(width * parts, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
          return op::l2_norm(b, x, epsilon, static_cast<uint32_t>(width));
        });
      }
    }
  }
}

TEST(Norm, OfRowsNearZeroAndOfLargeOnes) {
  for (const float factor : {1e-15f, 1e15f}) {
    check(96, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
      return op::rms_norm(b, op::scale(b, x, factor), b.weight("norm", Format::F32, 1, 96), 1e-6f);
    });
  }
}

TEST(Add, TwoRowsOrARowToItself) {
  for (const uint64_t width : kWidths) {
    check(width, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
      return op::add(b, x, second(b, width, gathered));
    });
    check(width, float_tolerance(),
          [](ProgramBuilder& b, Slot x, bool) { return op::add(b, x, x); });
  }
}

TEST(Add, AWeightToEveryRow) {
  for (const uint64_t width : kWidths) {
    for (const Format format : {Format::F32, Format::F16}) {
      check(width, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
        return op::add(b, x, b.weight("v", format, 1, width));
      });
    }
  }
}

TEST(Mul, ByAValueForEachPiece) {
  for (const uint64_t width : kWidths) {
    for (const uint64_t pieces : {1, 2, 16, 33}) {
      SCOPED_TRACE(testing::Message() << pieces << " pieces");
      check(width * pieces, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
        return op::mul(b, x, second(b, pieces, gathered));
      });
      check(width * pieces, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
        return op::mul(b, x, b.weight("v", Format::F16, 1, pieces));
      });
    }
    check(width, float_tolerance(),
          [](ProgramBuilder& b, Slot x, bool) { return op::mul(b, x, x); });
  }
}

TEST(SigmoidGate, OfAValueForEachPiece) {
  for (const uint64_t width : kWidths) {
    for (const uint64_t pieces : {1, 2, 16, 33}) {
      SCOPED_TRACE(testing::Message() << pieces << " pieces");
      for (const float factor : {1.0f, 60.0f}) {
        check(width * pieces, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
          return op::sigmoid_gate(b, x, op::scale(b, second(b, pieces, gathered), factor));
        });
      }
    }
    check(width, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
      return op::sigmoid_gate(b, x, second(b, width, gathered));
    });
  }
}

TEST(SumSegments, OfOneValueToAWholeRow) {
  for (const uint64_t width : kWidths) {
    for (const uint64_t segments : {1, 3, 16}) {
      check(width * segments, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
        return op::sum_segments(b, x, static_cast<uint32_t>(width));
      });
    }
  }
}

TEST(Slice, TakesColumnsOfEachSegment) {
  struct Shape {
    uint32_t segments, segment, first, columns;
  };
  for (const Shape& s : {Shape{1, 1, 0, 1},
                         {1, 33, 32, 1},
                         {3, 33, 1, 31},
                         {5, 32, 0, 32},
                         {4, 48, 16, 32},
                         {16, 2, 1, 1}}) {
    check(s.segments * s.segment, 0, [&](ProgramBuilder& b, Slot x, bool) {
      return op::slice(b, x, s.segment, s.first, s.columns);
    });
  }
}

TEST(Concat, PutsPiecesSideBySide) {
  for (const uint32_t segments : {1u, 2u, 5u}) {
    for (const uint64_t width : {1, 17, 32}) {
      for (const uint64_t other : {1, 16, 33}) {
        check(width * segments, 0, [&](ProgramBuilder& b, Slot x, bool gathered) {
          return op::concat(b, x, second(b, other * segments, gathered), segments);
        });
        check(width * segments, 0, [&](ProgramBuilder& b, Slot x, bool gathered) {
          return op::concat_to_each(b, x, second(b, other, gathered), segments);
        });
      }
    }
  }
  check(33, 0, [](ProgramBuilder& b, Slot x, bool) { return op::concat(b, x, x); });
}

TEST(PositionScale, GrowsWithTheLogarithmOfThePosition) {
  for (const auto& [length, offset] :
       {std::pair{1u, 0u}, {8u, 0u}, {8u, 1u}, {8192u, UINT32_MAX}}) {
    ProgramBuilder b;
    const Slot x = op::position_scale(b, input(b, 33), 0.1f, length, offset);
    expect_like_reference(std::move(b).finish(op::gather_rows(b, x), kLimits), all_counts(),
                          float_tolerance());
  }
}

TEST(Scale, ByPositiveNegativeZero) {
  for (const uint64_t width : kWidths) {
    for (const float factor : {0.125f, -3.7f, 0.0f}) {
      check(width, float_tolerance(),
            [&](ProgramBuilder& b, Slot x, bool) { return op::scale(b, x, factor); });
    }
  }
}

TEST(Scale, WithAnOffset) {
  for (const uint64_t width : kWidths) {
    check(width, float_tolerance(),
          [](ProgramBuilder& b, Slot x, bool) { return op::scale(b, x, -0.5f, 3.25f); });
    // After a product, and as the product's only reader.
    check(width, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
      const Slot y = op::linear(b, x, b.weight("w", Format::F32, 33, width));
      return op::scale(b, y, gathered ? 2.0f : 0.0f, 1.5f);
    });
  }
}

struct MixShape {
  uint32_t streams;
  uint32_t results;
};

struct MixOperands {
  bool matrix;
  bool adds;
};

/// A mix of streams of `width` columns.
MixOptions mix(ProgramBuilder& b, uint64_t width, const MixShape& shape, const MixOperands& has,
               bool gathered) {
  const auto operand = [&](std::string_view name, uint64_t columns) {
    const Slot made = input(b, columns, name);
    return gathered ? op::gather_rows(b, made) : made;
  };
  MixOptions options{.streams = shape.streams, .results = shape.results};
  if (has.matrix) options.matrix = operand("table_m", uint64_t{shape.streams} * shape.results);
  if (has.adds) {
    options.added = operand("table_y", width);
    options.factors = operand("table_p", shape.results);
  }
  return options;
}

TEST(MixStreams, ByAMatrixOfEachRow) {
  for (const uint64_t width : {1, 15, 16, 96}) {
    for (const MixShape& s : {MixShape{1, 1}, {4, 1}, {4, 4}, {3, 5}, {1, 4}}) {
      SCOPED_TRACE(testing::Message() << s.streams << " streams to " << s.results);
      for (const bool adds : {false, true}) {
        check(width * s.streams, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
          return op::mix_streams(b, x, mix(b, width, s, {.matrix = true, .adds = adds}, gathered));
        });
      }
    }
  }
}

TEST(MixStreams, WithoutAMatrix) {
  for (const uint64_t width : {1, 17, 32}) {
    for (const MixShape& s : {MixShape{1, 1}, {4, 1}, {4, 4}}) {
      SCOPED_TRACE(testing::Message() << s.streams << " streams to " << s.results);
      for (const bool adds : {false, true}) {
        check(width * s.streams, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
          return op::mix_streams(b, x, mix(b, width, s, {.matrix = false, .adds = adds}, gathered));
        });
      }
    }
  }
}

TEST(Sinkhorn, OfMatricesNearAndFarFromUniform) {
  for (const uint32_t size : {1u, 2u, 4u, 7u}) {
    for (const uint32_t iterations : {1u, 2u, 20u}) {
      for (const float factor : {0.0f, 1.0f, 8.0f}) {
        SCOPED_TRACE(testing::Message() << size << ", " << iterations << " iterations");
        check(uint64_t{size} * size, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
          return op::sinkhorn(b, op::scale(b, x, factor),
                              {.size = size, .iterations = iterations, .epsilon = 1e-6f});
        });
      }
    }
  }
}

TEST(Softmax, OfSegmentsNearAndFarFromUniform) {
  for (const uint32_t segments : {1u, 3u}) {
    for (const uint32_t size : {1u, 2u, 15u, 16u, 33u}) {
      for (const float factor : {0.0f, 1.0f, 300.0f}) {
        SCOPED_TRACE(testing::Message() << segments << " of " << size << " x " << factor);
        check(uint64_t{segments} * size, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
          return op::softmax(b, op::scale(b, x, factor), size);
        });
      }
    }
  }
}

TEST(SoftCap, NearZeroAndSaturated) {
  for (const uint64_t width : kWidths) {
    for (const float cap : {0.01f, 1.0f, 30.0f}) {
      check(width, float_tolerance(),
            [&](ProgramBuilder& b, Slot x, bool) { return op::soft_cap(b, x, cap); });
    }
  }
}

TEST(Glu, EveryActivation) {
  for (uint32_t activation = 0; activation <= TENON_ACTIVATION_RELU; ++activation) {
    for (const uint64_t width : kWidths) {
      // Scaled so that activations also saturate.
      for (const float factor : {1.0f, 40.0f}) {
        SCOPED_TRACE(testing::Message() << "activation " << activation << " x " << factor);
        check(width, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
          return op::glu(b, activation, op::scale(b, x, factor), second(b, width, gathered));
        });
      }
    }
  }
}

TEST(Glu, WithLimitOffsetAndAlpha) {
  for (uint32_t activation = 0; activation <= TENON_ACTIVATION_RELU; ++activation) {
    const float alpha = activation == TENON_ACTIVATION_SILU ? 1.702f : 0.0f;
    for (const GluOptions& options :
         {GluOptions{activation, alpha, 7.0f, 1.0f}, GluOptions{activation, alpha, 0.0f, 0.0f},
          GluOptions{activation, 1.0f, 0.5f, 0.0f}, GluOptions{activation, 1.0f, 0.0f, -2.0f},
          GluOptions{activation, alpha, 0.5f, 0.25f, true}}) {
      for (const float factor : {1.0f, 40.0f}) {
        SCOPED_TRACE(testing::Message() << "activation " << activation << " x " << factor);
        for (const uint64_t width : {1, 17, 96}) {
          check(width, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool gathered) {
            return op::glu(b, options, op::scale(b, x, factor),
                           op::scale(b, second(b, width, gathered), factor));
          });
        }
      }
    }
  }
}

TEST(Activate, EveryActivation) {
  for (uint32_t activation = 0; activation <= TENON_ACTIVATION_EXP; ++activation) {
    for (const uint64_t width : kWidths) {
      // Near zero, moderate, and saturated, where the exponential would overflow.
      for (const float factor : {1e-3f, 1.0f, activation == TENON_ACTIVATION_EXP ? 4.0f : 40.0f}) {
        SCOPED_TRACE(testing::Message() << "activation " << activation << " x " << factor);
        check(width, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
          const Slot scaled = op::scale(b, x, factor);
          if (activation != TENON_ACTIVATION_XIELU) return op::activate(b, activation, scaled);
          return op::xielu(b, {.alpha_p = 0.8f, .alpha_n = 1.3f, .beta = 0.5f, .epsilon = -1e-6f},
                           scaled);
        });
      }
    }
  }
}

TEST(SignedRoot, OfBothSignsNothingAndLittle) {
  for (const uint64_t width : kWidths) {
    for (const float factor : {0.0f, 1e-7f, 1.0f, 1e6f}) {
      check(width, float_tolerance(), [&](ProgramBuilder& b, Slot x, bool) {
        return op::signed_root(b, op::scale(b, x, factor), 1e-6f);
      });
    }
  }
}

TEST(Glu, OfARowWithItself) {
  check(33, float_tolerance(),
        [](ProgramBuilder& b, Slot x, bool) { return op::glu(b, TENON_ACTIVATION_SILU, x, x); });
}

}  // namespace
}  // namespace tenon::conformance
