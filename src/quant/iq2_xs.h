// Format iq2_xs: 256 values in groups of eight, each a point of a 512-point codebook with signs.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/iq2_xs_grid.h"
#include "quant/iq_fit.h"
#include "quant/iq_signs.h"

namespace tenon {

/// Layout (74 bytes):
///   0       2                             66                            74
///   | d f16 | qs[32]: one word per group  | scales[8]: one byte per 32 values |
/// A word is a grid index (bits 0..8) and a sign code (bits 9..15). The low nibble of scales[s] is
/// for groups 0 and 1 of sub-block s, the high nibble for groups 2 and 3.
/// value = d * (scale + 1/2) / 4 * grid * sign.
/// Source: type 17 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockIQ2_XS {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint16_t qs[32];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_XS) == 74);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockIQ2_XS& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 32; ++g) {
    const int nibble = block.scales[g / 4] >> (g % 4 / 2 * 4) & 15;
    const float scale = d * (0.5f + static_cast<float>(nibble)) * 0.25f;
    const uint16_t point = kIq2XsGrid[block.qs[g] & 511];
    const uint8_t signs = expand_signs(block.qs[g] >> 9);
    for (int j = 0; j < 8; ++j) {
      const float level = static_cast<float>(kIq2XsLevels[point >> (2 * j) & 3]);
      *out++ = with_sign(scale * level, signs, j);
    }
  }
}

/// in [256] finite. Points and scales are searched over the whole codebook (iq_fit.h): slow.
template <typename Weights = EvenWeights>
void encode(const float* in, BlockIQ2_XS& block, Weights weights = {}) noexcept {
  block = {};
  float x[256];
  const float peak = signed_peak(in, 256);
  if (!(peak < -kSmallestPeak || peak > kSmallestPeak)) return;
  normalise(in, 256, peak, x);
  uint8_t signs[32];
  for (int g = 0; g < 32; ++g) signs[g] = take_signs(x + 8 * g, true, weights + 8 * g);
  const auto fit = fit_codebook<kIq2XsGrid, kIq2XsLevels, 8, 32, 16>(x, weights);
  for (int g = 0; g < 32; ++g) {
    block.qs[g] = static_cast<uint16_t>(fit.point[g] | (signs[g] & 127) << 9);
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
