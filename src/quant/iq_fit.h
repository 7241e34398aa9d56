// Searches of the codebook encoders: the nearest point per group at several scales, and sub-block
// scales as small integers under one f16 scale. Layouts are in the format headers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "quant/fit.h"
#include "quant/iq_signs.h"
#include "quant/isa.h"

namespace tenon {
inline namespace TENON_QUANT_ISA {

/// Costs of trial scales, up to sum(weight * x^2), and the points that have them: [groups, trials].
template <int kGroups, int kTrials>
struct CodebookCosts {
  float cost[kGroups][kTrials];
  int32_t point[kGroups][kTrials];
};

/// Finds the codebook point g with the least weighted |x - scale * (g + offset)|^2 for every group of
/// kValues values and every trial scale of the group. kGrid holds codes of kBits bits per value;
/// kLevels maps a code to its value.
template <const auto& kGrid, const auto& kLevels, int kValues, int kGroups, int kTrials,
          typename Weights = EvenWeights>
void search_codebook(const float* x, const float (&scales)[kGroups][kTrials], float offset,
                     CodebookCosts<kGroups, kTrials>& best, Weights weights = {}) noexcept {
  constexpr int kBits = kValues == 8 ? 2 : 3;
  constexpr int kPoints = sizeof(kGrid) / sizeof(kGrid[0]);
  for (int g = 0; g < kGroups; ++g) {
    for (int t = 0; t < kTrials; ++t) {
      best.cost[g][t] = 3e38f;
      best.point[g][t] = 0;
    }
  }
  for (int32_t p = 0; p < kPoints; ++p) {
    float point[kValues];
    float even_power = 0.0f;
    for (int j = 0; j < kValues; ++j) {
      const int code = kGrid[p] >> (kBits * j) & ((1 << kBits) - 1);
      point[j] = static_cast<float>(kLevels[code]) + offset;
      even_power += point[j] * point[j];
    }
    for (int g = 0; g < kGroups; ++g) {
      float cross = 0.0f;
      float power = 0.0f;
      if constexpr (std::is_same_v<Weights, EvenWeights>) {
        for (int j = 0; j < kValues; ++j) cross += x[g * kValues + j] * point[j];
        power = even_power;
      } else {
        for (int j = 0; j < kValues; ++j) {
          const float weighted = weights[g * kValues + j] * point[j];
          cross += x[g * kValues + j] * weighted;
          power += point[j] * weighted;
        }
      }
      for (int t = 0; t < kTrials; ++t) {
        const float scale = scales[g][t];
        const float cost = scale * (scale * power - 2.0f * cross);
        const bool better = cost < best.cost[g][t];
        best.cost[g][t] = better ? cost : best.cost[g][t];
        best.point[g][t] = better ? p : best.point[g][t];
      }
    }
  }
}

/// Trial scales in the first pass.
inline constexpr int kCodebookTrials = 16;

/// Fills scales [kGroups, kCodebookTrials] with fractions of each sub-block's peak. A sub-block has
/// kGroups / kScales groups.
template <int kValues, int kScales, int kGroups>
void trial_scales(const float* x, const float (&parts)[kCodebookTrials],
                  float (&scales)[kGroups][kCodebookTrials]) noexcept {
  constexpr int kGroupsPerScale = kGroups / kScales;
  constexpr int kCount = kValues * kGroupsPerScale;
  for (int g = 0; g < kGroups; ++g) {
    const float peak = signed_peak(x + g / kGroupsPerScale * kCount, kCount);
    const float magnitude = peak < 0.0f ? -peak : peak;
    for (int t = 0; t < kCodebookTrials; ++t) scales[g][t] = magnitude * parts[t];
  }
}

/// The scale code nearest to `scale` when code c means step * (2c + 1), within 0..limit.
constexpr int odd_code(float scale, float step, int limit) noexcept {
  return level_of(0.5f * (scale * inverse_step(step) - 1.0f), 0.0f, 1.0f, 0, limit);
}

/// Trial t of 3 around `centre`, held within 0..limit.
constexpr int near_code(int centre, int t, int limit) noexcept {
  const int code = centre + t - 1;
  return code < 0 ? 0 : code > limit ? limit : code;
}

/// An encoder's choice: points [groups], scale codes [scales] and their step: scale = step * (2 *
/// code + 1).
template <int kGroups, int kScales>
struct CodebookFit {
  int32_t point[kGroups] = {};
  int code[kScales] = {};
  float step = 0.0f;
};

/// Fits x [kValues * kGroups] (magnitudes, peak about 1) with scale codes 0..15.
template <const auto& kGrid, const auto& kLevels, int kValues, int kGroups, int kScales,
          typename Weights = EvenWeights>
CodebookFit<kGroups, kScales> fit_codebook(const float* x, Weights weights = {}) noexcept {
  constexpr int kGroupsPerScale = kGroups / kScales;
  constexpr int kLimit = 15;
  CodebookFit<kGroups, kScales> fit;
  float wanted[kScales] = {};
  {
    float scales[kGroups][kCodebookTrials];
    // Try scales around the one that maps the peak to the largest level, and the two smallest
    // levels for blocks of equal values.
    float parts[kCodebookTrials];
    for (int t = 0; t < 14; ++t) {
      parts[t] = (0.5f + 0.05f * static_cast<float>(t)) / kLevels[sizeof(kLevels) - 1];
    }
    parts[14] = 1.0f / kLevels[1];
    parts[15] = 1.0f / kLevels[0];
    trial_scales<kValues, kScales>(x, parts, scales);
    CodebookCosts<kGroups, kCodebookTrials> costs;
    search_codebook<kGrid, kLevels, kValues>(x, scales, 0.0f, costs, weights);
    for (int s = 0; s < kScales; ++s) {
      float least = 0.0f;
      for (int t = 0; t < kCodebookTrials; ++t) {
        float cost = 0.0f;
        for (int k = 0; k < kGroupsPerScale; ++k) cost += costs.cost[s * kGroupsPerScale + k][t];
        if (cost < least) {
          least = cost;
          wanted[s] = scales[s * kGroupsPerScale][t];
        }
      }
    }
  }
  fit.step = signed_peak(wanted, kScales) / (2 * kLimit + 1);
  float scales[kGroups][3];
  for (int g = 0; g < kGroups; ++g) {
    const int centre = odd_code(wanted[g / kGroupsPerScale], fit.step, kLimit);
    for (int t = 0; t < 3; ++t) {
      scales[g][t] = fit.step * static_cast<float>(2 * near_code(centre, t, kLimit) + 1);
    }
  }
  CodebookCosts<kGroups, 3> costs;
  search_codebook<kGrid, kLevels, kValues>(x, scales, 0.0f, costs, weights);
  for (int s = 0; s < kScales; ++s) {
    float least = 3e38f;
    for (int t = 0; t < 3; ++t) {
      float cost = 0.0f;
      for (int k = 0; k < kGroupsPerScale; ++k) cost += costs.cost[s * kGroupsPerScale + k][t];
      if (!(cost < least)) continue;
      least = cost;
      fit.code[s] = near_code(odd_code(wanted[s], fit.step, kLimit), t, kLimit);
      for (int k = 0; k < kGroupsPerScale; ++k) {
        const int g = s * kGroupsPerScale + k;
        fit.point[g] = costs.point[g][t];
      }
    }
  }
  return fit;
}

/// Replaces x [8] by magnitudes and returns the signs: bit j is set if value j was negative. `even`
/// makes the number of negative values even by flipping the least by weight, which may leave it
/// negative in x.
template <typename Weights = EvenWeights>
uint8_t take_signs(float* x, bool even, Weights weights = {}) noexcept {
  uint32_t signs = 0;
  int smallest = 0;
  for (int j = 0; j < 8; ++j) {
    if (x[j] < 0.0f) {
      signs |= 1u << j;
      x[j] = -x[j];
    }
    const bool less =
        std::is_same_v<Weights, EvenWeights>
            ? x[j] < x[smallest]
            : weights[j] * x[j] * x[j] < weights[smallest] * x[smallest] * x[smallest];
    if (less) smallest = j;
  }
  if (even && odd_bits(signs) != 0) {
    signs ^= 1u << smallest;
    x[smallest] = -x[smallest];
  }
  return static_cast<uint8_t>(signs);
}

/// The f16 scale with the least weighted squared error of in [256] for chosen codes. unit [256] is the
/// decoded block for d = 1.
template <typename Weights = EvenWeights>
uint16_t refit_d(const float* in, const float* unit, Weights weights = {}) noexcept {
  double cross = 0.0;
  double power = 0.0;
  for (int i = 0; i < 256; ++i) {
    const auto weight = static_cast<double>(weights[i]);
    cross += weight * static_cast<double>(in[i]) * unit[i];
    power += weight * static_cast<double>(unit[i]) * unit[i];
  }
  return scale_to_f16(power > 0.0 ? static_cast<float>(cross / power) : 0.0f);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
