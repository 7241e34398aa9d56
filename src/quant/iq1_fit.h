// The search of the iq1_s and iq1_m encoders: points, scale codes and the sign of the offset.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/iq1_grid.h"
#include "quant/iq_fit.h"
#include "quant/isa.h"

namespace tenon {

/// How far iq1_s and iq1_m shift the levels -1, 0, 1 up or down.
inline constexpr float kIq1Offset = 0.125f;

inline namespace TENON_QUANT_ISA {

/// The choice of an iq1 encoder for 32 groups of eight values.
template <int kScales>
struct Iq1Fit {
  CodebookFit<32, kScales> codebook;
  bool negative[32] = {};  ///< whether the offset of the group is -kIq1Offset
};

/// Finds the least cost over points and offsets for every trial scale of every sub-block. Groups of
/// kGroupsPerOffset share an offset. Keeps the best trial of each sub-block in `fit` and its index
/// in chosen [kScales].
template <int kScales, int kGroupsPerOffset, int kTrials, typename Weights>
void search_iq1(const float* x, const float (&scales)[32][kTrials], Iq1Fit<kScales>& fit,
                int (&chosen)[kScales], Weights weights) noexcept {
  constexpr int kGroupsPerScale = 32 / kScales;
  CodebookCosts<32, kTrials> plus;
  CodebookCosts<32, kTrials> minus;
  search_codebook<kIq1Grid, kIq1Levels, 8>(x, scales, kIq1Offset, plus, weights);
  search_codebook<kIq1Grid, kIq1Levels, 8>(x, scales, -kIq1Offset, minus, weights);
  for (int s = 0; s < kScales; ++s) {
    float least = 3e38f;
    for (int t = 0; t < kTrials; ++t) {
      float cost = 0.0f;
      bool negative[kGroupsPerScale];
      for (int k = 0; k < kGroupsPerScale; k += kGroupsPerOffset) {
        float up = 0.0f;
        float down = 0.0f;
        for (int i = k; i < k + kGroupsPerOffset; ++i) {
          up += plus.cost[s * kGroupsPerScale + i][t];
          down += minus.cost[s * kGroupsPerScale + i][t];
        }
        cost += down < up ? down : up;
        for (int i = k; i < k + kGroupsPerOffset; ++i) negative[i] = down < up;
      }
      if (!(cost < least)) continue;
      least = cost;
      chosen[s] = t;
      for (int k = 0; k < kGroupsPerScale; ++k) {
        const int g = s * kGroupsPerScale + k;
        fit.negative[g] = negative[k];
        fit.codebook.point[g] = negative[k] ? minus.point[g][t] : plus.point[g][t];
      }
    }
  }
}

/// Fits x [256] (peak about 1) with scale codes 0..7.
template <int kScales, int kGroupsPerOffset, typename Weights = EvenWeights>
Iq1Fit<kScales> fit_iq1(const float* x, Weights weights = {}) noexcept {
  constexpr int kLimit = 7;
  constexpr int kGroupsPerScale = 32 / kScales;
  Iq1Fit<kScales> fit;
  int chosen[kScales] = {};
  float wanted[kScales];
  {
    float scales[32][kCodebookTrials];
    float parts[kCodebookTrials];
    for (int t = 0; t < kCodebookTrials; ++t) parts[t] = 0.3f + 0.045f * static_cast<float>(t);
    trial_scales<8, kScales>(x, parts, scales);
    search_iq1<kScales, kGroupsPerOffset>(x, scales, fit, chosen, weights);
    for (int s = 0; s < kScales; ++s) wanted[s] = scales[s * kGroupsPerScale][chosen[s]];
  }
  fit.codebook.step = signed_peak(wanted, kScales) / (2 * kLimit + 1);
  float scales[32][3];
  for (int g = 0; g < 32; ++g) {
    const int centre = odd_code(wanted[g / kGroupsPerScale], fit.codebook.step, kLimit);
    for (int t = 0; t < 3; ++t) {
      scales[g][t] = fit.codebook.step * static_cast<float>(2 * near_code(centre, t, kLimit) + 1);
    }
  }
  search_iq1<kScales, kGroupsPerOffset>(x, scales, fit, chosen, weights);
  for (int s = 0; s < kScales; ++s) {
    const int centre = odd_code(wanted[s], fit.codebook.step, kLimit);
    fit.codebook.code[s] = near_code(centre, chosen[s], kLimit);
  }
  return fit;
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
