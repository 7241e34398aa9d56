// Shared by samplers that end a chain: applying the temperature and drawing a candidate.
#pragma once

#include <cstddef>
#include <span>

#include "sampler/candidates.h"

namespace tenon {

/// Divides the logits by `temperature` > 0, relative to the largest, so that a tiny temperature
/// overflows to -inf, never to +inf or NaN.
inline void divide_by_temperature(Candidates& candidates, double temperature) {
  if (temperature == 1.0) return;
  const double max = candidates.max_logit();
  for (float& logit : candidates.writable_logits()) {
    logit = logit == max ? 0.0f : static_cast<float>((logit - max) / temperature);
  }
}

inline double sum_of(std::span<const float> weights) {
  double total = 0.0;
  for (const float weight : weights) total += weight;
  return total;
}

/// Inverts the cumulative distribution of `weights` (sum: total > 0), in order, at `uniform` in [0,
/// 1). Never returns a candidate of weight 0.
inline size_t drawn_candidate(std::span<const float> weights, double total, double uniform) {
  const double target = uniform * total;
  double sum = 0.0;
  size_t chosen = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0.0f) continue;
    chosen = i;
    sum += weights[i];
    if (sum > target) break;
  }
  return chosen;
}

}  // namespace tenon
