// Biases added to scores before the softmax: ALiBi (arXiv:2108.12409) and T5's relative bias
// (arXiv:1910.10683). Included by kernel_attention.h.
#pragma once

#include "backends/cpu/kernels/kernel_attention_span.h"
#include "backends/cpu/kernels/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Distances own - i of the positions i from `first` on; whole numbers below 2^24 are exact.
inline F32x16 distances_from(uint32_t own, uint32_t first) {
  static constexpr float kLanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto distance = static_cast<float>(int64_t{own} - int64_t{first});
  return sub(broadcast(distance), load(kLanes));
}

/// Adds -slope |own - i| to 16 scores.
inline void add_slope(float slope, uint32_t own, uint32_t first, float* scores) {
  const F32x16 distance = distances_from(own, first);
  const F32x16 magnitude = max(distance, sub(broadcast(0.0f), distance));
  store(scores, fma(magnitude, broadcast(-slope), load(scores)));
}

/// Adds a head's column of the table to 16 scores.
inline void add_buckets(const AttentionBias& bias, const float* column, uint32_t own,
                        uint32_t first, float* scores) {
  float values[16];
  const int64_t reach = bias.reach;
  for (uint32_t i = 0; i < 16; ++i) {
    const int64_t distance = int64_t{first} + i - own;
    const int64_t near = distance < -reach ? -reach : (distance > reach ? reach : distance);
    values[i] = column[bias.buckets[near + reach] * bias.table_stride];
  }
  store(scores, fma(load(values), broadcast(kLog2E), load(scores)));
}

/// Adds the bias to the scores of all columns of token t, for the positions it attends to, in whole
/// vectors.
inline void add_bias(const AttentionArgs& a, const Span& span, const AttentionScratch& s,
                     uint32_t t) {
  const Range range = range_in(a, span, t);
  const uint32_t own = a.position + t;
  for (uint32_t h = 0; h < a.heads; ++h) {
    float* scores = s.scores + (uint64_t{t} * a.heads + h) * kAttentionSpan;
    const auto slope =
        a.bias.slopes == nullptr ? 0.0f : static_cast<float>(a.bias.slopes[h] * double{kLog2E});
    for (uint32_t p = range.first / 16 * 16; p < range.end; p += 16) {
      if (a.bias.slopes != nullptr) {
        add_slope(slope, own, p, scores + (p - span.start));
      } else {
        add_buckets(a.bias, a.bias.table + h, own, p, scores + (p - span.start));
      }
    }
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
