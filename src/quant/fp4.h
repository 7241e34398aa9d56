// The sixteen values of the 4-bit float e2m1 that mxfp4 and nvfp4 share, doubled to be integers,
// and the rounding to them.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "quant/isa.h"

namespace tenon {

/// 2 * e2m1(code): sign bit 3, exponent bits 2..1 (bias 1), mantissa bit 0; both zeros are +0.
/// Source: OCP Microscaling Formats specification 1.0, section 5.3.3.
inline constexpr int8_t kFp4Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

inline namespace TENON_QUANT_ISA {

/// The code whose doubled value is nearest to `doubled`; too large values take the largest, and
/// both zeros code 0.
constexpr int nearest_fp4(float doubled) noexcept {
  const float magnitude = doubled < 0.0f ? -doubled : doubled;
  int code = 0;
  for (const float middle : {0.5f, 1.5f, 2.5f, 3.5f, 5.0f, 7.0f, 10.0f}) code += magnitude > middle;
  return doubled < 0.0f && code != 0 ? code + 8 : code;
}

/// Squared error of in [count] in units of step^2 when each value takes its nearest code.
inline double fp4_error(const float* in, int count, float step) noexcept {
  double error = 0.0;
  for (int i = 0; i < count; ++i) {
    const float doubled = in[i] / step;
    const double difference = doubled - static_cast<float>(kFp4Doubled[nearest_fp4(doubled)]);
    error += difference * difference;
  }
  return error * static_cast<double>(step) * static_cast<double>(step);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
