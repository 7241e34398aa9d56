// The encoding of a head's key or value in a KV cache of 8 or 4 bits: one scale per row, and a
// rotation for 4 bits. All backends use it, so they store equal values; each backend has its own
// byte layout.
#pragma once

#include <cstdint>

#include "quant/half.h"
#include "quant/isa.h"

namespace tenon {

/// Largest head size for 8 or 4 bits: rows are rotated in a buffer on the stack.
inline constexpr uint32_t kMaxCacheRow = 1024;

inline namespace TENON_QUANT_ISA {

/// Walsh-Hadamard transform of x [n] in place, orthonormal and its own inverse. If n is no power of
/// two, transforms the largest such prefix, then the rest likewise. Spreads an outlier of one
/// dimension over all (QuaRot, arXiv:2404.00456), and q.k = (Hq).(Hk).
template <typename Real>
inline void rotate_row(Real* x, uint64_t n) noexcept {
  while (n > 0) {
    uint64_t size = 1;
    while (size * 2 <= n) size *= 2;
    for (uint64_t half = size / 2; half > 0; half /= 2) {
      for (uint64_t i = 0; i < size; i += 2 * half) {
        for (uint64_t j = i; j < i + half; ++j) {
          const Real a = x[j];
          const Real b = x[j + half];
          x[j] = a + b;
          x[j + half] = a - b;
        }
      }
    }
    Real factor = 1;  // 1 / sqrt(size)
    uint64_t left = size;
    for (; left >= 4; left /= 4) factor /= 2;
    if (left == 2) factor *= static_cast<Real>(0.70710678118654752440);
    for (uint64_t j = 0; j < size; ++j) x[j] *= factor;
    x += size;
    n -= size;
  }
}

/// The f16 scale of a row that maps the largest magnitude to level `top`. NaN or infinity if the
/// row contains either, so that a broken value never looks like a number.
inline uint16_t cache_scale(const float* x, uint64_t n, float top) noexcept {
  float largest = 0.0f;
  float broken = 0.0f;
  for (uint64_t i = 0; i < n; ++i) {
    const float magnitude = x[i] < 0.0f ? -x[i] : x[i];
    largest = magnitude > largest ? magnitude : largest;
    broken += x[i] * 0.0f;
  }
  return f32_to_f16(largest / top + broken);
}

/// 1 / scale; 0 for a scale without a finite inverse.
inline float cache_inverse(uint16_t scale) noexcept {
  const float d = f16_to_f32(scale);
  return d > 0.0f && d <= 65504.0f ? 1.0f / d : 0.0f;
}
/// x * inverse, rounded to nearest even and clamped to [-limit, limit].
inline float cache_level(float x, float inverse, float limit) noexcept {
  float level = x * inverse;
  level = level < limit ? level : limit;
  level = level > -limit ? level : -limit;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves no fraction bits
  return (level + kRound) - kRound;
}

/// 8 bits: x ~ scale * levels[i], levels in -127..127. Returns the scale as f16.
inline uint16_t encode_row_int8(const float* x, uint64_t n, int8_t* levels) noexcept {
  const uint16_t scale = cache_scale(x, n, 127.0f);
  const float inverse = cache_inverse(scale);
  for (uint64_t i = 0; i < n; ++i) {
    levels[i] =
        inverse == 0.0f ? int8_t{0} : static_cast<int8_t>(cache_level(x[i], inverse, 127.0f));
  }
  return scale;
}

/// 4 bits: x, rotated, ~ scale * (2 codes[i] - 15), codes in 0..15; no level is zero,
/// which rotated values rarely are. Rotates x [n] in place; returns the scale as f16.
inline uint16_t encode_row_q4(float* x, uint64_t n, uint8_t* codes) noexcept {
  rotate_row(x, n);
  const uint16_t scale = cache_scale(x, n, 15.0f);
  const float inverse = cache_inverse(scale) * 0.5f;
  for (uint64_t i = 0; i < n; ++i) {
    // Levels -8..7 stand for -15..15 in steps of two.
    const float level = inverse == 0.0f ? 0.0f : cache_level(x[i] * inverse - 0.5f, 1.0f, 8.0f);
    codes[i] = static_cast<uint8_t>((level < 7.0f ? level : 7.0f) + 8.0f);
  }
  return scale;
}
inline float q4_level(uint8_t code) noexcept { return 2.0f * static_cast<float>(code) - 15.0f; }

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
