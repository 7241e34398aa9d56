// The sixteen values of the 4-bit float e2m1 that mxfp4 and nvfp4 share, doubled to be integers.
#pragma once

#include <cstdint>

namespace tenon {

/// 2 * e2m1(code): sign bit 3, exponent bits 2..1 (bias 1), mantissa bit 0; both zeros are +0.
/// Source: OCP Microscaling Formats specification 1.0, section 5.3.3.
inline constexpr int8_t kFp4Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace tenon
