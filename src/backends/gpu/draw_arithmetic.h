// Integer arithmetic of a draw, for C++, CUDA and GLSL. Sums of weights do not depend on order, so
// a draw has the same bits on every device, with any number of threads. Used by gpu/draw_plan.h.
#ifdef __cplusplus
#pragma once
#include <cstdint>

#include "backends/gpu/step_layout.h"
namespace tenon::gpu {
#ifdef __CUDACC__
#define TENON_DRAW_FUNCTION __host__ __device__ inline
#else
#define TENON_DRAW_FUNCTION inline
#endif
#else
#define TENON_DRAW_FUNCTION
#endif

// Key that orders logits; both zeros have the same key.
//   bits  of the logit, not NaN
TENON_DRAW_FUNCTION uint draw_key(uint bits) {
  if (bits == 0x80000000u) bits = 0u;
  return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

// exp2(-x) as a multiple of 2^-32, for x = fraction * 2^-32 in [0, 1). Taylor series of exp at 0 in
// Horner form; the omitted rest is below 2^-35, and each step rounds by less than 2^-32.
TENON_DRAW_FUNCTION uint64_t draw_power(uint fraction) {
  const uint64_t x = uint64_t(fraction);
  // ln(2)^k / k! * 2^32, from k = 11 down.
  uint64_t sum = uint64_t(2u);
  sum = uint64_t(30u) - (sum * x >> 32);
  sum = uint64_t(437u) - (sum * x >> 32);
  sum = uint64_t(5676u) - (sum * x >> 32);
  sum = uint64_t(65510u) - (sum * x >> 32);
  sum = uint64_t(661577u) - (sum * x >> 32);
  sum = uint64_t(5726720u) - (sum * x >> 32);
  sum = uint64_t(41309550u) - (sum * x >> 32);
  sum = uint64_t(238388332u) - (sum * x >> 32);
  sum = uint64_t(1031764991u) - (sum * x >> 32);
  sum = uint64_t(2977044472u) - (sum * x >> 32);
  return (uint64_t(1u) << 32) - (sum * x >> 32);
}

// exp(-distance / temperature) as a multiple of 2^-40, rounded to nearest; 0 from about 28 on.
//   bits         of the distance from the largest logit, f32
//   rate, shift  log2(e) / temperature = rate * 2^-shift, rate at least 2^31
TENON_DRAW_FUNCTION uint64_t draw_weight(uint bits, uint rate, int shift) {
  const uint exponent = bits >> 23 & 0xFFu;  // the difference of two zeros may have a sign
  if (exponent == 0u) return uint64_t(1u) << 40;
  // The distance is (2^23 + fraction) * 2^(exponent - 150); the result needs the product in units
  // of 2^-32.
  const uint64_t product = uint64_t((bits & 0x7FFFFFu) | 0x800000u) * uint64_t(rate);
  const int down = 118 + shift - int(exponent);
  if (down <= 0) return uint64_t(0u);
  if (down >= 64) return uint64_t(1u) << 40;
  const uint64_t x = product >> down;
  if (x >> 32 > uint64_t(41u)) return uint64_t(0u);
  return ((draw_power(uint(x & uint64_t(0xFFFFFFFFu))) << 9 >> int(x >> 32)) + uint64_t(1u)) >> 1;
}

// Upper 64 bits of a 128-bit product.
TENON_DRAW_FUNCTION uint64_t draw_product(uint64_t a, uint64_t b) {
  const uint64_t low = uint64_t(0xFFFFFFFFu);
  const uint64_t lows = (a & low) * (b & low);
  const uint64_t first = (a >> 32) * (b & low) + (lows >> 32);
  const uint64_t second = (a & low) * (b >> 32) + (first & low);
  return (a >> 32) * (b >> 32) + (first >> 32) + (second >> 32);
}

// ceil(mass * share), at least 1.
//   share  a multiple of 2^-64
TENON_DRAW_FUNCTION uint64_t draw_goal(uint64_t mass, uint64_t share) {
  const uint64_t goal =
      draw_product(mass, share) + uint64_t(mass * share != uint64_t(0u) ? 1u : 0u);
  return goal == uint64_t(0u) ? uint64_t(1u) : goal;
}

#ifdef __cplusplus
}  // namespace tenon::gpu
#endif
