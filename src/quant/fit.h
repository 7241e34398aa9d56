// Searches shared by encoders: the scale (and minimum) with the least error after rounding to
// integer levels. The layouts are in the format headers.
#pragma once

#include <cstdint>

#include "quant/half.h"
#include "quant/isa.h"

namespace tenon {
inline namespace TENON_QUANT_ISA {

/// Weights of squared errors that are all 1. Encoders take a pointer instead to weights of single
/// values, none negative and about 1 on average (an importance matrix).
struct EvenWeights {
  constexpr float operator[](int) const noexcept { return 1.0f; }
  constexpr EvenWeights operator+(int) const noexcept { return {}; }
};

/// The integer nearest to value within [low, high], as f32; NaN gives low.
constexpr float nearest_level(float value, float low, float high) noexcept {
  value = value > low ? value : low;
  value = value < high ? value : high;
  // Adding 1.5 * 2^23 leaves no fraction bits, and compilers vectorise it.
  return (value + 12582912.0f) - 12582912.0f;
}

/// Level of one value for packing: nearest((value - minimum) * inverse) in [low, high].
constexpr int level_of(float value, float minimum, float inverse, int low, int high) noexcept {
  return static_cast<int>(nearest_level((value - minimum) * inverse, static_cast<float>(low),
                                        static_cast<float>(high)));
}

/// 1 / step, or 0 for a step of 0, so that everything rounds to level 0.
constexpr float inverse_step(float step) noexcept { return step == 0.0f ? 0.0f : 1.0f / step; }

/// f32 to f16 for scales: saturates at the largest finite half, NaN gives 0.
constexpr uint16_t scale_to_f16(float scale) noexcept {
  if (!(scale > -65504.0f)) return scale <= -65504.0f ? 0xfbff : 0;
  return scale < 65504.0f ? f32_to_f16(scale) : 0x7bff;
}

/// The largest magnitude in x [count], with its sign.
constexpr float signed_peak(const float* x, int count) noexcept {
  float peak = 0.0f;
  for (int i = 0; i < count; ++i) {
    const float magnitude = x[i] < 0.0f ? -x[i] : x[i];
    if (magnitude > (peak < 0.0f ? -peak : peak)) peak = x[i];
  }
  return peak;
}

/// Smaller peaks are encoded as zeros: no f16 scale would tell them from zero. The bound keeps the
/// reciprocal of the peak finite.
inline constexpr float kSmallestPeak = 1e-30f;

/// Copies x [count] to out, divided by |peak|, so that sums of squares neither overflow nor vanish.
inline void normalise(const float* x, int count, float peak, float* out) noexcept {
  const float magnitude = peak < 0.0f ? -peak : peak;
  for (int i = 0; i < count; ++i) out[i] = x[i] / magnitude;
}

/// Result of rounding to levels q = nearest(x * inverse). With the best scale for these levels the
/// weighted squared error is sum(weight * x^2) - gain.
struct ScaleFit {
  float scale = 0.0f;  ///< least-squares scale for these levels
  float gain = 0.0f;
};

template <typename Weights>
ScaleFit evaluate_scale(const float* x, int count, float inverse, float low, float high,
                        Weights weights) noexcept {
  float cross = 0.0f;
  float power = 0.0f;
  for (int i = 0; i < count; ++i) {
    const float level = nearest_level(x[i] * inverse, low, high);
    cross += weights[i] * x[i] * level;
    power += weights[i] * level * level;
  }
  if (!(power > 0.0f)) return {};
  return {cross / power, cross * cross / power};
}

/// The scale d with the least weighted squared error of x ~ d * q, q integer in [low, high], low < 0 < high.
/// Tries scales that map the peak to levels around the end of the range (beyond it, the peak is
/// clipped), then polishes the best. The peak goes to the longer side; short ranges are tried both
/// ways.
template <int kCount, typename Weights = EvenWeights>
float fit_scale(const float* values, int low, int high, Weights weights = {}) noexcept {
  const float peak = signed_peak(values, kCount);
  if (!(peak < -kSmallestPeak || peak > kSmallestPeak)) return 0.0f;
  float x[kCount];
  normalise(values, kCount, peak, x);
  const bool negative_side = -low >= high;
  const auto range = static_cast<float>(negative_side ? -low : high);
  const float delta = (range * 0.5f + 2.0f) / 18.0f;
  const float sign = (peak < 0.0f) == negative_side ? 1.0f : -1.0f;
  const auto bottom = static_cast<float>(low);
  const auto top = static_cast<float>(high);
  ScaleFit best;
  for (int i = -6; i <= 12; ++i) {  // step 0 keeps the peak exact
    const float inverse = sign * (range + delta * static_cast<float>(i));
    const ScaleFit fit = evaluate_scale(x, kCount, inverse, bottom, top, weights);
    if (fit.gain > best.gain) best = fit;
    if (range > 4.0f || low == -high) continue;
    const ScaleFit mirrored = evaluate_scale(x, kCount, -inverse, bottom, top, weights);
    if (mirrored.gain > best.gain) best = mirrored;
  }
  for (int i = 0; i < 3 && best.scale != 0.0f; ++i) {
    const ScaleFit fit = evaluate_scale(x, kCount, 1.0f / best.scale, bottom, top, weights);
    if (fit.gain <= best.gain) break;
    best = fit;
  }
  return best.scale * (peak < 0.0f ? -peak : peak);
}

/// value ~ scale * q + minimum.
struct AffineFit {
  float scale = 0.0f;
  float minimum = 0.0f;
};

/// The weighted least-squares line through (q, x) for q = nearest((x - start) * inverse) in [0, top], and
/// its squared error. `at_most_zero` clamps a positive minimum to 0.
template <typename Weights>
AffineFit evaluate_affine(const float* x, int count, float start, float inverse, float top,
                          bool at_most_zero, Weights weights, float& error) noexcept {
  float n = 0, sum_x = 0, sum_q = 0, sum_xx = 0, sum_xq = 0, sum_qq = 0;
  for (int i = 0; i < count; ++i) {
    const float q = nearest_level((x[i] - start) * inverse, 0.0f, top);
    const float weight = weights[i];
    n += weight;
    sum_x += weight * x[i];
    sum_q += weight * q;
    sum_xx += weight * x[i] * x[i];
    sum_xq += weight * x[i] * q;
    sum_qq += weight * q * q;
  }
  const float determinant = n * sum_qq - sum_q * sum_q;
  AffineFit fit;
  if (determinant > 0.0f) {
    fit.scale = (n * sum_xq - sum_x * sum_q) / determinant;
    fit.minimum = (sum_x - fit.scale * sum_q) / n;
  }
  if (!(determinant > 0.0f) || (at_most_zero && fit.minimum > 0.0f)) {
    fit = {sum_qq > 0.0f ? sum_xq / sum_qq : 0.0f, 0.0f};
  }
  error = sum_xx - fit.scale * sum_xq - fit.minimum * sum_x;
  return fit;
}

/// The line scale * q + minimum, q in 0..top, with the least weighted squared error over values. Tries steps
/// around (max - min) / top, centred on the values, and polishes the best.
template <int kCount, typename Weights = EvenWeights>
AffineFit fit_affine(const float* values, int top, bool at_most_zero,
                     Weights weights = {}) noexcept {
  const float peak = signed_peak(values, kCount);
  if (!(peak < -kSmallestPeak || peak > kSmallestPeak)) return {};
  float x[kCount];
  normalise(values, kCount, peak, x);
  float low = at_most_zero ? 0.0f : x[0];
  float high = x[0];
  for (int i = 0; i < kCount; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  const float magnitude = peak < 0.0f ? -peak : peak;
  if (!(high > low)) return {0.0f, low * magnitude};
  const auto levels = static_cast<float>(top);
  const float delta = (levels * 0.2f + 1.0f) / 15.0f;
  AffineFit best;
  float best_error = 0.0f;
  for (int i = -8; i <= 8; ++i) {  // step 0 keeps both ends exact
    const float step = (high - low) / (levels + delta * static_cast<float>(i));
    float start = 0.5f * (low + high - levels * step);
    if (at_most_zero && start > 0.0f) start = 0.0f;
    float error = 0.0f;
    AffineFit fit =
        evaluate_affine(x, kCount, start, 1.0f / step, levels, at_most_zero, weights, error);
    if (i == -8 || error < best_error) {
      best = fit;
      best_error = error;
    }
  }
  for (int i = 0; i < 3 && best.scale > 0.0f; ++i) {
    float error = 0.0f;
    const AffineFit fit = evaluate_affine(x, kCount, best.minimum, 1.0f / best.scale, levels,
                                          at_most_zero, weights, error);
    if (!(error < best_error)) break;
    best = fit;
    best_error = error;
  }
  return {best.scale * magnitude, best.minimum * magnitude};
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
