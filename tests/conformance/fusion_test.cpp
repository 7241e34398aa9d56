// Combinations of operations that a backend may fuse: results equal those of separate operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "program/operations.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

/// Shorthand for building a pattern on x [T, 96].
struct Pattern {
  ProgramBuilder b;
  Format format;

  Slot x() { return table("table_x", kWidth); }
  Slot table(const char* name, uint64_t width) {
    return op::embed(b, b.weight(name, Format::F32, kVocab, width));
  }
  Slot linear(Slot input, const char* name, uint64_t rows, Format own, uint64_t columns = kWidth) {
    return op::linear(b, input, b.weight(name, own, rows, columns));
  }
  Slot linear(Slot input, const char* name, uint64_t rows = kWidth) {
    return linear(input, name, rows, format);
  }
  Slot with_bias(Slot input, const char* name, uint64_t rows = kWidth) {
    const std::string bias = std::string(name) + ".bias";
    return op::linear(b, input, b.weight(name, format, rows, kWidth),
                      b.weight(bias, Format::F32, 1, rows));
  }
  Slot vector(const char* name, uint64_t width = kWidth) {
    return b.weight(name, Format::F32, 1, width);
  }
};

struct Case {
  const char* name;
  std::function<Slot(Pattern& p)> make;  ///< returns [T, .]
};

const Case kCases[] = {
    {"LinearTwice", [](Pattern& p) { return p.linear(p.linear(p.x(), "a"), "c"); }},
    {"ResultReadTwice",
     [](Pattern& p) {
       const Slot y = p.linear(p.x(), "a");
       return op::add(p.b, p.linear(y, "c"), y);
     }},
    {"ResultAddedToItself",
     [](Pattern& p) {
       const Slot y = p.linear(p.x(), "a");
       return op::add(p.b, y, y);
     }},
    {"ResidualOnTheRight",
     [](Pattern& p) {
       const Slot x = p.x();
       return op::add(p.b, p.with_bias(x, "a"), x);
     }},
    {"ResidualOnTheLeft",
     [](Pattern& p) {
       const Slot x = p.x();
       return op::add(p.b, x, p.with_bias(x, "a"));
     }},
    {"SumOfTwoLinears",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot y = p.linear(x, "a");
       return op::add(p.b, y, p.linear(x, "c"));
     }},
    {"SumOfLinearsOfDifferentInputs",
     [](Pattern& p) {
       const Slot y = p.linear(p.x(), "a");
       return op::add(p.b, y, p.linear(p.table("table_y", kWidth), "c"));
     }},
    {"EverythingColumnwise",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot y = op::scale(p.b, p.with_bias(x, "a"), 0.7f);
       return op::scale(p.b, op::add(p.b, x, op::soft_cap(p.b, y, 1.5f)), -1.5f);
     }},
    {"ActivationBetweenTwoLinears",
     [](Pattern& p) {
       const Slot h =
           op::activate(p.b, TENON_ACTIVATION_RELU_SQUARED, p.with_bias(p.x(), "up", 160));
       return p.linear(h, "down", kWidth, p.format, 160);
     }},
    {"VectorsAddedAndMultiplied",
     [](Pattern& p) {
       const Slot y = op::add(p.b, p.linear(p.x(), "a"), p.vector("v"));
       return op::add(p.b, op::mul(p.b, p.linear(y, "c"), p.vector("m")), p.vector("v"));
     }},
    {"NormsWithoutWeights",
     [](Pattern& p) {
       const Slot y = op::rms_norm(p.b, p.linear(p.x(), "a"), kNoSlot, 1e-5f, 16);
       const Slot z = op::layer_norm(p.b, p.linear(y, "c"), kNoSlot, p.vector("m", 48), 1e-5f, 48);
       return op::l2_norm(p.b, p.linear(z, "d"), 1e-6f, 32);
     }},
    {"GateOfLimitsAndAlpha",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot gate = p.with_bias(x, "gate", 160);
       return op::glu(p.b, GluOptions{TENON_ACTIVATION_SILU, 1.702f, 0.9f, 1.0f}, gate,
                      p.with_bias(x, "up", 160));
     }},
    {"GateOfEachValue",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot y = p.linear(x, "a");
       const Slot gate = p.linear(x, "gate");
       return op::sigmoid_gate(p.b, op::sigmoid_gate(p.b, y, gate), p.linear(x, "heads", 6));
     }},
    {"LinearHeadsBetweenLinears",
     [](Pattern& p) {
       const Slot x = p.linear(p.x(), "a");
       const Slot y = op::linear_heads(p.b, x, p.b.weight("h", p.format, 3 * 64, 32), 3);
       return p.linear(y, "c", kWidth, p.format, 192);
     }},
    {"LinearHeadsOfOddRows",
     [](Pattern& p) {
       const Slot y = op::linear_heads(p.b, p.x(), p.b.weight("h", p.format, 3 * 20, 32), 3);
       const Slot z = op::rms_norm(p.b, op::scale(p.b, y, 0.5f), p.vector("n", 10), 1e-5f, 10);
       return p.linear(z, "c", kWidth, Format::F32, 60);
     }},
    {"LinearHeadsAndALinearOfOneInput",
     [](Pattern& p) {
       const Slot x = op::rms_norm(p.b, p.x(), p.vector("n"), 1e-5f);
       const Slot y = op::linear_heads(p.b, x, p.b.weight("h", p.format, kWidth, 32), 3);
       const Slot gate = p.linear(x, "a");
       return op::glu(p.b, TENON_ACTIVATION_SILU, gate, op::add(p.b, p.x(), y));
     }},
    {"LinearHeadsAreUp",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot gate = p.linear(x, "a");
       return op::glu(p.b, TENON_ACTIVATION_SILU, gate,
                      op::linear_heads(p.b, x, p.b.weight("h", p.format, kWidth, 32), 3));
     }},
    {"LinearHeadsAreTheGate",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot gate = op::linear_heads(p.b, x, p.b.weight("h", p.format, kWidth, 32), 3);
       return op::glu(p.b, TENON_ACTIVATION_SILU, gate, p.linear(x, "a"));
     }},
    {"LinearHeadsRopeAndResidual",
     [](Pattern& p) {
       const Slot angles = op::rope_angles(p.b, p.b.constant("f", std::vector{1.0, 0.1}), 1);
       const Slot x = p.x();
       const Slot y = op::linear_heads(p.b, x, p.b.weight("h", p.format, kWidth, 32), 3);
       return op::add(p.b, x, op::rope(p.b, y, angles, TENON_ROPE_HALVES, 16, 7));
     }},
    {"WholeRowNorm",
     [](Pattern& p) {
       const Slot y = op::rms_norm(p.b, p.with_bias(p.x(), "a"), p.vector("n"), 1e-5f);
       return op::layer_norm(p.b, p.linear(y, "c"), p.vector("m"), p.vector("m.bias"), 1e-5f);
     }},
    {"HeadNormAndRope",
     [](Pattern& p) {
       const Slot angles =
           op::rope_angles(p.b, p.b.constant("f", std::vector{1.0, 0.3, 0.1, 0.03}), 1.1f);
       const Slot q = op::rms_norm(p.b, p.with_bias(p.x(), "a", 80), p.vector("n", 16), 1e-5f, 16);
       return op::rope(p.b, q, angles, TENON_ROPE_HALVES, 16);
     }},
    {"AnglesAfterTheLinear",
     [](Pattern& p) {
       const Slot q = p.linear(p.x(), "a");
       const Slot angles = op::rope_angles(p.b, p.b.constant("f", std::vector{1.0, 0.1}), 1);
       return op::rope(p.b, q, angles, TENON_ROPE_ADJACENT, 12);
     }},
    {"WideHeads",
     [](Pattern& p) {
       const Slot angles = op::rope_angles(p.b, p.b.constant("f", std::vector{1.0, 0.1}), 1);
       const Slot q = op::rope(p.b, p.linear(p.x(), "a", 1300), angles, TENON_ROPE_HALVES, 650);
       return op::rms_norm(p.b, q, p.vector("n", 325), 1e-5f, 325);
     }},
    {"GateThenUp",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot gate = p.with_bias(x, "gate", 160);
       return op::glu(p.b, TENON_ACTIVATION_SILU, gate, p.with_bias(x, "up", 160));
     }},
    {"UpThenGate",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot up = p.linear(x, "up", 160);
       return op::glu(p.b, TENON_ACTIVATION_GELU_TANH, p.linear(x, "gate", 160), up);
     }},
    {"GateAndUpOfTwoFormats",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot gate = p.linear(x, "gate", 70, Format::Q5_1);
       return op::glu(p.b, TENON_ACTIVATION_SILU, gate, p.linear(x, "up", 70));
     }},
    {"GateInFloat",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot gate = p.linear(x, "gate", 70, Format::F16);
       return op::glu(p.b, TENON_ACTIVATION_SILU, gate, p.linear(x, "up", 70));
     }},
    {"UpInFloat",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot gate = p.linear(x, "gate", 70);
       return op::glu(p.b, TENON_ACTIVATION_SILU, gate, p.linear(x, "up", 70, Format::BF16));
     }},
    {"GateAndUpOfDifferentInputs",
     [](Pattern& p) {
       const Slot gate = p.linear(p.x(), "gate");
       return op::glu(p.b, TENON_ACTIVATION_SILU, gate, p.linear(p.table("table_y", kWidth), "up"));
     }},
    {"UpReadTwice",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot gate = p.linear(x, "gate");
       const Slot up = p.linear(x, "up");
       return op::add(p.b, op::glu(p.b, TENON_ACTIVATION_RELU, gate, up), up);
     }},
    {"GateScaledFirst",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot gate = op::scale(p.b, p.linear(x, "gate"), 2);
       return op::glu(p.b, TENON_ACTIVATION_GELU_ERF, gate, p.linear(x, "up"));
     }},
    {"GateIsUp",
     [](Pattern& p) {
       const Slot y = p.linear(p.x(), "a");
       return op::glu(p.b, TENON_ACTIVATION_SILU, y, y);
     }},
    {"UpIsNoLinear",
     [](Pattern& p) {
       const Slot x = p.x();
       return op::glu(p.b, TENON_ACTIVATION_SILU, p.linear(x, "gate"), x);
     }},
    {"GluDownResidual",
     [](Pattern& p) {
       const Slot x = p.x();
       const Slot n = op::rms_norm(p.b, x, p.vector("n"), 1e-5f);
       const Slot gate = p.linear(n, "gate", 160);
       const Slot h = op::glu(p.b, TENON_ACTIVATION_SILU, gate, p.linear(n, "up", 160));
       return op::add(p.b, x, p.linear(h, "down", kWidth, p.format, 160));
     }},
    {"SameInputInTwoFormats",
     [](Pattern& p) {
       const Slot x = op::rms_norm(p.b, p.x(), p.vector("n"), 1e-5f);
       const Slot y = p.linear(x, "a", kWidth, Format::F32);
       const Slot z = p.linear(x, "c", kWidth, Format::IQ4_NL);
       return op::add(p.b, op::add(p.b, y, z), p.linear(x, "d"));
     }},
    {"TableIsAlsoAWeight",
     [](Pattern& p) {
       const Slot table = p.b.weight("table_x", p.format, kVocab, kWidth);
       return op::linear(p.b, op::embed(p.b, table), table);
     }},
    {"ResultNobodyReads",
     [](Pattern& p) {
       const Slot x = p.x();
       p.linear(x, "unread");
       op::scale(p.b, x, 2);
       return p.linear(x, "a");
     }},
};

class Fusion : public testing::TestWithParam<std::tuple<const Case*, Format>> {};

TEST_P(Fusion, AgreesWithOneByOne) {
  const auto& [pattern_case, format] = GetParam();
  Pattern pattern{{}, format};
  const Slot out = op::gather_rows(pattern.b, pattern_case->make(pattern));
  const Program program = std::move(pattern.b).finish(out, {40, 40});
  const std::vector<StepPlan> steps = {one_sequence(1, kVocab), one_sequence(0, kVocab),
                                       one_sequence(40, kVocab), one_sequence(3, kVocab)};
  // Cases that name a quantised format are quantised whatever `format` is.
  const std::string name = pattern_case->name;
  const bool mixed = name == "GateAndUpOfTwoFormats" || name == "SameInputInTwoFormats";
  double tolerance = format == Format::F32 ? float_tolerance() : chain_tolerance(format);
  if (name == "GateInFloat") tolerance = std::max(tolerance, chain_tolerance(Format::F16));
  if (name == "UpInFloat") tolerance = std::max(tolerance, chain_tolerance(Format::BF16));
  if (mixed) tolerance = std::max(tolerance, chain_tolerance(Format::Q8_0));
  expect_like_reference(program, steps, tolerance);
}

std::vector<const Case*> all_cases() {
  std::vector<const Case*> cases;
  for (const Case& one : kCases) cases.push_back(&one);
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Patterns, Fusion,
                         testing::Combine(testing::ValuesIn(all_cases()),
                                          testing::Values(Format::F32, Format::BF16, Format::Q8_0,
                                                          Format::IQ4_NL)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)->name) + "_" +
                                  find_format(std::get<1>(test.param))->name;
                         });

TEST(Results, AreWrittenAlsoWhereAnOperationThatIsFusedReadsThem) {
  ProgramBuilder b;
  const Slot x = op::gather_rows(b, op::embed(b, b.weight("table_x", Format::F32, kVocab, 96)));
  const Slot gate = op::linear(b, x, b.weight("gate", Format::F32, 64, 96));
  const Slot up = op::linear(b, x, b.weight("up", Format::F32, 64, 96));
  b.result(up);
  const Slot out = op::glu(b, TENON_ACTIVATION_SILU, gate, up);
  const Program program = std::move(b).finish(out, {.max_tokens = 40, .max_outputs = 40});
  const std::vector<StepPlan> steps = {one_sequence(1, kVocab), one_sequence(40, kVocab)};
  expect_like_reference(program, steps, float_tolerance());
}

}  // namespace
}  // namespace tenon::conformance
