// Rounds values to few bits with a scale per segment (tenon/backend.h, tenon_round_params).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tenon/backend.h"

namespace tenon::backends {

/// A small floating-point format: steps of 2^-mantissa from 2^exponent on, and the same steps
/// below.
struct SmallFloat {
  int mantissa;  ///< bits
  int exponent;  ///< exponent of the smallest normal value
  double largest;
};
inline constexpr SmallFloat kE4M3{3, -6, 448.0};
inline constexpr SmallFloat kE2M1{1, 0, 6.0};

/// Nearest value of the format, ties to even; saturates at the largest.
template <typename Real>
Real nearest(const SmallFloat& format, Real x) noexcept {
  const Real size = std::abs(x);
  if (!(size < static_cast<Real>(format.largest))) {
    return std::copysign(static_cast<Real>(format.largest), x);
  }
  const int exponent = size > 0 ? std::max(std::ilogb(size), format.exponent) : format.exponent;
  const Real step = std::ldexp(Real{1}, exponent - format.mantissa);
  return std::nearbyint(x / step) * step;
}

/// Smallest power of two >= x, x > 0.
template <typename Real>
Real power_of_two_from(Real x) noexcept {
  int exponent = 0;
  const Real half_to_one = std::frexp(x, &exponent);
  return std::ldexp(Real{1}, half_to_one == Real{0.5} ? exponent - 1 : exponent);
}

/// Scale of a segment whose largest absolute value is `most`.
template <typename Real>
Real rounding_scale(uint32_t format, Real most) noexcept {
  const auto e4m3 = static_cast<Real>(kE4M3.largest);
  const auto e2m1 = static_cast<Real>(kE2M1.largest);
  switch (format) {
    case TENON_ROUND_FP8:
      return power_of_two_from(std::max(most, static_cast<Real>(1e-4)) / e4m3);
    case TENON_ROUND_FP4:
      return power_of_two_from(std::max(most, std::ldexp(e2m1, -126)) / e2m1);
    default:
      return nearest(kE4M3, std::max(most, std::ldexp(e2m1, -9)) / e2m1);
  }
}

/// Rounds the segments of n values; x and y may be equal.
template <typename Real>
void round_values(const tenon_round_params& p, const Real* x, Real* y, uint64_t n) noexcept {
  const SmallFloat& format = p.format == TENON_ROUND_FP8 ? kE4M3 : kE2M1;
  for (uint64_t first = 0; first < n; first += p.segment) {
    Real most = 0;
    for (uint64_t i = first; i < first + p.segment; ++i) most = std::max(most, std::abs(x[i]));
    const Real scale = rounding_scale(p.format, most);
    for (uint64_t i = first; i < first + p.segment; ++i) {
      y[i] = nearest(format, x[i] / scale) * scale;
    }
  }
}

}  // namespace tenon::backends
