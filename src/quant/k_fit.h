// The two-level searches of the q*_K encoders: scales (and minima) of sub-blocks as small integers
// under one f16 scale for all. The layouts are in the format headers.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/k_scales.h"

namespace tenon {
inline namespace TENON_QUANT_ISA {

/// Weighted squared error of x [count] ~ scale * q + minimum with the nearest q in [low, high].
template <typename Weights>
float level_error(const float* x, int count, float scale, float minimum, int low, int high,
                  Weights weights) noexcept {
  const float inverse = inverse_step(scale);
  float error = 0.0f;
  for (int i = 0; i < count; ++i) {
    const float level = nearest_level((x[i] - minimum) * inverse, static_cast<float>(low),
                                      static_cast<float>(high));
    const float difference = x[i] - (scale * level + minimum);
    error += weights[i] * difference * difference;
  }
  return error;
}

/// Sub-blocks without minimum: x ~ d * scales[s] * q, q in [low, high], scales in
/// [scale_low, -scale_low - 1]. Returns d as f16; fills scales [kBlocks].
template <int kBlocks, int kCount, typename Weights = EvenWeights>
uint16_t fit_k_scales(const float* x, int low, int high, int scale_low, int* scales,
                      Weights weights = {}) noexcept {
  float wanted[kBlocks];
  for (int s = 0; s < kBlocks; ++s)
    wanted[s] = fit_scale<kCount>(x + s * kCount, low, high, weights + s * kCount);
  // The largest scale takes the longer end of the range.
  const uint16_t d = scale_to_f16(signed_peak(wanted, kBlocks) / static_cast<float>(scale_low));
  const float step = f16_to_f32(d);
  for (int s = 0; s < kBlocks; ++s) {
    const int scale_high = -scale_low - 1;
    const int centre = level_of(wanted[s], 0.0f, inverse_step(step), scale_low, scale_high);
    scales[s] = centre;
    float least = -1.0f;
    for (int trial = centre - 1; trial <= centre + 1; ++trial) {
      if (trial < scale_low || trial > scale_high) continue;
      const float scale = step * static_cast<float>(trial);
      const float error =
          level_error(x + s * kCount, kCount, scale, 0.0f, low, high, weights + s * kCount);
      if (least < 0.0f || error < least) {
        least = error;
        scales[s] = trial;
      }
    }
  }
  return d;
}

/// The two f16 scales of a block with minima.
struct KBlockScales {
  uint16_t d = 0;
  uint16_t dmin = 0;
};

/// Sub-blocks with minimum: x ~ d * scale * q - dmin * minimum, q in 0..top, scale and minimum in
/// 0..limit. Fills scales [kBlocks].
template <int kBlocks, int kCount, typename Weights = EvenWeights>
KBlockScales fit_k_affine(const float* x, int top, int limit, KScale* scales,
                          Weights weights = {}) noexcept {
  float wanted_scale[kBlocks];
  float wanted_minimum[kBlocks];
  for (int s = 0; s < kBlocks; ++s) {
    const AffineFit fit = fit_affine<kCount>(x + s * kCount, top, true, weights + s * kCount);
    wanted_scale[s] = fit.scale > 0.0f ? fit.scale : 0.0f;
    wanted_minimum[s] = -fit.minimum;
  }
  KBlockScales out;
  out.d = scale_to_f16(signed_peak(wanted_scale, kBlocks) / static_cast<float>(limit));
  out.dmin = scale_to_f16(signed_peak(wanted_minimum, kBlocks) / static_cast<float>(limit));
  const float d = f16_to_f32(out.d);
  const float dmin = f16_to_f32(out.dmin);
  for (int s = 0; s < kBlocks; ++s) {
    const int scale = level_of(wanted_scale[s], 0.0f, inverse_step(d), 0, limit);
    const int minimum = level_of(wanted_minimum[s], 0.0f, inverse_step(dmin), 0, limit);
    scales[s] = {scale, minimum};
    float least = -1.0f;
    for (int i = 0; i < 9; ++i) {
      const KScale trial = {scale + i / 3 - 1, minimum + i % 3 - 1};
      if (trial.scale < 0 || trial.scale > limit) continue;
      if (trial.minimum < 0 || trial.minimum > limit) continue;
      const float error =
          level_error(x + s * kCount, kCount, d * static_cast<float>(trial.scale),
                      -dmin * static_cast<float>(trial.minimum), 0, top, weights + s * kCount);
      if (least < 0.0f || error < least) {
        least = error;
        scales[s] = trial;
      }
    }
  }
  return out;
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
