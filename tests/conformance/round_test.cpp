// Rounding to few bits, against all values of the formats.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "program/operations.h"
#include "tests/conformance/program_runner.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kSegment = 16;
constexpr uint32_t kColumns = 4 * kSegment;

/// All values from 0 up, by code: exponent bits, then mantissa bits.
std::vector<double> values_of(int exponent_bits, int mantissa_bits, int bias, int codes) {
  std::vector<double> values;
  for (int code = 0; code < codes; ++code) {
    const int exponent = code >> mantissa_bits;
    const double mantissa = code & ((1 << mantissa_bits) - 1);
    const double part = std::ldexp(mantissa, -mantissa_bits);
    values.push_back(exponent == 0 ? std::ldexp(part, 1 - bias)
                                   : std::ldexp(1.0 + part, exponent - bias));
  }
  EXPECT_LE(codes, 1 << (exponent_bits + mantissa_bits));
  return values;
}
// The last code of e4m3 is NaN.
const std::vector<double>& e4m3() {
  static const std::vector<double> values = values_of(4, 3, 7, 127);
  return values;
}
const std::vector<double>& e2m1() {
  static const std::vector<double> values = values_of(2, 1, 1, 8);
  return values;
}

/// The nearest value; ties go to the even code.
double nearest_of(const std::vector<double>& values, double x) {
  size_t found = 0;
  for (size_t code = 1; code < values.size(); ++code) {
    const double before = std::abs(values[found] - std::abs(x));
    const double now = std::abs(values[code] - std::abs(x));
    if (now < before || (now == before && code % 2 == 0)) found = code;
  }
  return std::copysign(values[found], x);
}

double least_power_from(double x) {
  double power = std::ldexp(1.0, -1000);
  while (power < x) power *= 2;
  return power;
}

std::vector<float> expected_values(uint32_t format, const std::vector<float>& x) {
  std::vector<float> out;
  for (size_t first = 0; first < x.size(); first += kSegment) {
    double most = 0;
    for (size_t i = first; i < first + kSegment; ++i) most = std::max(most, std::abs(double{x[i]}));
    double scale = nearest_of(e4m3(), std::max(most, 6 * std::ldexp(1.0, -9)) / 6);
    if (format == TENON_ROUND_FP8) scale = least_power_from(std::max(most, 1e-4) / 448);
    if (format == TENON_ROUND_FP4) {
      scale = least_power_from(std::max(most, 6 * std::ldexp(1.0, -126)) / 6);
    }
    const std::vector<double>& values = format == TENON_ROUND_FP8 ? e4m3() : e2m1();
    for (size_t i = first; i < first + kSegment; ++i) {
      out.push_back(static_cast<float>(nearest_of(values, double{x[i]} / scale) * scale));
    }
  }
  return out;
}

class Round : public testing::TestWithParam<uint32_t> {};

TEST_P(Round, GivesTheNearestValueOfTheFormat) {
  const uint32_t format = GetParam();
  ProgramBuilder b;
  const Slot x = b.input("x", TENON_ROWS_TOKENS, kColumns);
  const Slot rounded = op::round(b, x, format, kSegment);
  b.result(rounded);
  const Slot token = op::embed(b, b.weight("t", Format::F32, kVocab, 1));
  const Program program = std::move(b).finish(op::gather_rows(b, token), {64, 64});
  constexpr uint32_t kRows = 40;
  std::vector<float> values = random_values("x", uint64_t{kRows} * kColumns);
  for (uint32_t row = 0; row < kRows; ++row) {
    // All magnitudes; every fourth row has quarters, which are often midway between two values.
    const float size = std::ldexp(1.0f, static_cast<int>(row) - 20);
    for (uint32_t c = 0; c < kColumns; ++c) {
      float& value = values[uint64_t{row} * kColumns + c];
      value = row % 4 == 0 ? std::round(value * 24) / 4 : value * size;
    }
    // Makes the scale of the quarters 1, and other scales sometimes an exact power of two.
    if (row % 4 == 0) {
      for (uint32_t c = 0; c < kColumns; c += kSegment) {
        values[uint64_t{row} * kColumns + c] = format == TENON_ROUND_FP8 ? 448.0f : 6.0f;
      }
    }
  }
  std::fill(values.begin() + kColumns, values.begin() + 2 * kColumns, 0.0f);
  StepPlan plan;
  plan.parts.push_back({0, mixed_tokens(kRows)});
  plan.inputs = {values};
  Runner runner(target(), program);
  std::vector<float> result = runner.run(plan);
  result.resize(values.size());
  EXPECT_EQ(result, expected_values(format, values));
}

INSTANTIATE_TEST_SUITE_P(Formats, Round,
                         testing::Values(TENON_ROUND_FP8, TENON_ROUND_FP4, TENON_ROUND_FP4_FP8));

}  // namespace
}  // namespace tenon::conformance
