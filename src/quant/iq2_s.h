// Format iq2_s: 256 values in groups of eight, each a point of a 1024-point codebook with free
// signs.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/iq2_s_grid.h"
#include "quant/iq_fit.h"
#include "quant/iq_signs.h"

namespace tenon {

/// Layout (82 bytes):
///   0       2                      34                  66                  74            82
///   | d f16 | qs[32]: low 8 bits   | signs[32]: bit j  | qh[8]: high bits  | scales[8]   |
///   |       | of group g's index   | of byte g: value j| of four groups    | 2 nibbles   |
/// Group g has bits 8 and 9 of its index in bits 2 * (g % 4) and up of qh[g / 4]. The low nibble of
/// scales[s] is for groups 0 and 1 of sub-block s (32 values), the high nibble for 2 and 3.
/// value = d * (scale + 1/2) / 4 * grid * sign.
/// Source: type 22 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockIQ2_S {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint8_t qs[32];
  uint8_t signs[32];
  uint8_t qh[8];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_S) == 82);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockIQ2_S& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 32; ++g) {
    const int nibble = block.scales[g / 4] >> (g % 4 / 2 * 4) & 15;
    const float scale = d * (0.5f + static_cast<float>(nibble)) * 0.25f;
    const int high = block.qh[g / 4] >> (2 * (g % 4)) & 3;
    const uint16_t point = kIq2SGrid[block.qs[g] | high << 8];
    for (int j = 0; j < 8; ++j) {
      const float level = static_cast<float>(kIq2SLevels[point >> (2 * j) & 3]);
      *out++ = with_sign(scale * level, block.signs[g], j);
    }
  }
}

/// in [256] finite. Points and scales are searched over the whole codebook (iq_fit.h): slow.
template <typename Weights = EvenWeights>
void encode(const float* in, BlockIQ2_S& block, Weights weights = {}) noexcept {
  block = {};
  float x[256];
  const float peak = signed_peak(in, 256);
  if (!(peak < -kSmallestPeak || peak > kSmallestPeak)) return;
  normalise(in, 256, peak, x);
  for (int g = 0; g < 32; ++g) block.signs[g] = take_signs(x + 8 * g, false, weights + 8 * g);
  const auto fit = fit_codebook<kIq2SGrid, kIq2SLevels, 8, 32, 16>(x, weights);
  for (int g = 0; g < 32; ++g) {
    block.qs[g] = static_cast<uint8_t>(fit.point[g]);
    block.qh[g / 4] |= static_cast<uint8_t>(fit.point[g] >> 8 << (2 * (g % 4)));
  }
  for (int s = 0; s < 8; ++s) {
    block.scales[s] = static_cast<uint8_t>(fit.code[2 * s] | fit.code[2 * s + 1] << 4);
  }
  float unit[256];
  block.d = 0x3c00;  // 1.0
  decode(block, unit);
  block.d = refit_d(in, unit, weights);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
