// Format iq1_s: 256 values in groups of eight, each a point of a 2048-point ternary codebook with a
// common offset per 32 values.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/iq1_fit.h"
#include "quant/iq1_grid.h"

namespace tenon {

/// Layout (50 bytes):
///   0       2                     34                              50
///   | d f16 | qs[32]: low 8 bits  | qh[8]: one word per 32 values |
///   |       | of group g's index  |                               |
/// A word holds bits 8..10 of the indices of its four groups (group k at bit 3k), a 3-bit scale
/// (bits 12..14) and the sign of the offset (bit 15).
/// value = d * (2 * scale + 1) * (grid + offset), offset = +-1/8.
/// Source: type 19 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockIQ1_S {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint8_t qs[32];
  uint16_t qh[8];
};
static_assert(sizeof(BlockIQ1_S) == 50);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockIQ1_S& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 32; ++g) {
    const int word = block.qh[g / 4];
    const float scale = d * static_cast<float>(2 * (word >> 12 & 7) + 1);
    const float offset = (word & 0x8000) != 0 ? -kIq1Offset : kIq1Offset;
    const uint16_t point = kIq1Grid[block.qs[g] | (word >> (3 * (g % 4)) & 7) << 8];
    for (int j = 0; j < 8; ++j) {
      *out++ = scale * (static_cast<float>(kIq1Levels[point >> (2 * j) & 3]) + offset);
    }
  }
}

/// in [256] finite. Points and scales are searched over the whole codebook (iq1_fit.h): slow.
template <typename Weights = EvenWeights>
void encode(const float* in, BlockIQ1_S& block, Weights weights = {}) noexcept {
  block = {};
  float x[256];
  const float peak = signed_peak(in, 256);
  if (!(peak < -kSmallestPeak || peak > kSmallestPeak)) return;
  normalise(in, 256, peak, x);
  const Iq1Fit<8> fit = fit_iq1<8, 4>(x, weights);
  for (int g = 0; g < 32; ++g) {
    block.qs[g] = static_cast<uint8_t>(fit.codebook.point[g]);
    block.qh[g / 4] |= static_cast<uint16_t>(fit.codebook.point[g] >> 8 << (3 * (g % 4)));
  }
  for (int s = 0; s < 8; ++s) {
    block.qh[s] |= static_cast<uint16_t>(fit.codebook.code[s] << 12);
    if (fit.negative[4 * s]) block.qh[s] |= 0x8000;
  }
  float unit[256];
  block.d = 0x3c00;  // 1.0
  decode(block, unit);
  block.d = refit_d(in, unit, weights);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
