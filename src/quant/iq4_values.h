// The sixteen non-uniform values that iq4_nl and iq4_xs share, and the search for their scale.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "quant/fit.h"
#include "quant/isa.h"

namespace tenon {

/// Denser near zero, where most weights lie; slightly asymmetric. Source: type 20 of the GGUF
/// specification; pinned by tests/quant/vectors_test.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

inline namespace TENON_QUANT_ISA {

/// The index of the value nearest to x.
constexpr int nearest_iq4(float x) noexcept {
  int index = 0;
  for (int i = 0; i < 15; ++i) {
    index += x > 0.5f * static_cast<float>(kIq4Values[i] + kIq4Values[i + 1]) ? 1 : 0;
  }
  return index;
}

/// Weighted squared error of x [32] ~ scale * kIq4Values[nearest].
template <typename Weights>
float iq4_error(const float* x, float scale, Weights weights) noexcept {
  const float inverse = inverse_step(scale);
  float error = 0.0f;
  for (int i = 0; i < 32; ++i) {
    const float difference =
        x[i] - scale * static_cast<float>(kIq4Values[nearest_iq4(x[i] * inverse)]);
    error += weights[i] * difference * difference;
  }
  return error;
}

/// The scale with the least weighted squared error over values [32]: puts the peak around either end of the
/// values, then polishes the best.
template <typename Weights = EvenWeights>
float fit_iq4_scale(const float* values, Weights weights = {}) noexcept {
  const float peak = signed_peak(values, 32);
  if (!(peak < -kSmallestPeak || peak > kSmallestPeak)) return 0.0f;
  float x[32];
  normalise(values, 32, peak, x);
  const auto evaluate = [&](float inverse) {
    float cross = 0.0f;
    float power = 0.0f;
    for (int i = 0; i < 32; ++i) {
      const auto value = static_cast<float>(kIq4Values[nearest_iq4(x[i] * inverse)]);
      cross += weights[i] * x[i] * value;
      power += weights[i] * value * value;
    }
    return ScaleFit{cross / power, cross * cross / power};
  };
  ScaleFit best;
  for (int i = 0; i < 16; ++i) {
    const float end = 99.0f + 4.0f * static_cast<float>(i);
    for (const float inverse : {end, -end}) {
      const ScaleFit fit = evaluate(inverse);
      if (fit.gain > best.gain) best = fit;
    }
  }
  for (int i = 0; i < 3 && best.scale != 0.0f; ++i) {
    const ScaleFit fit = evaluate(1.0f / best.scale);
    if (fit.gain <= best.gain) break;
    best = fit;
  }
  return best.scale * (peak < 0.0f ? -peak : peak);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
