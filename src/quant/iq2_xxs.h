// Format iq2_xxs: 256 values in groups of eight, each a point of a 256-point codebook with signs.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/iq2_xxs_grid.h"
#include "quant/iq_fit.h"
#include "quant/iq_signs.h"

namespace tenon {

/// Layout (66 bytes):
///   0       2                                             66
///   | d f16 | qs[32]: four 16-bit words per 32 values     |
/// The first two words of a sub-block of 32 are four grid indices (one byte each, group 0 first);
/// the last two, as one 32-bit number, are four 7-bit sign codes (group g at bit 7g) and a 4-bit
/// scale (bits 28..31).
/// value = d * (scale + 1/2) / 4 * grid * sign.
/// Source: type 16 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockIQ2_XXS {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint16_t qs[32];
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockIQ2_XXS& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int s = 0; s < 8; ++s) {
    const uint16_t* words = block.qs + 4 * s;
    const uint32_t tail = words[2] | static_cast<uint32_t>(words[3]) << 16;
    const float scale = d * (0.5f + static_cast<float>(tail >> 28)) * 0.25f;
    for (int g = 0; g < 4; ++g) {
      const uint16_t point = kIq2XxsGrid[words[g / 2] >> (8 * (g % 2)) & 255];
      const uint8_t signs = expand_signs(tail >> (7 * g));
      for (int j = 0; j < 8; ++j) {
        const float level = static_cast<float>(kIq2XxsLevels[point >> (2 * j) & 3]);
        *out++ = with_sign(scale * level, signs, j);
      }
    }
  }
}

/// in [256] finite. Points and scales are searched over the whole codebook (iq_fit.h): slow.
template <typename Weights = EvenWeights>
void encode(const float* in, BlockIQ2_XXS& block, Weights weights = {}) noexcept {
  block = {};
  float x[256];
  const float peak = signed_peak(in, 256);
  if (!(peak < -kSmallestPeak || peak > kSmallestPeak)) return;
  normalise(in, 256, peak, x);
  uint8_t signs[32];
  for (int g = 0; g < 32; ++g) signs[g] = take_signs(x + 8 * g, true, weights + 8 * g);
  const auto fit = fit_codebook<kIq2XxsGrid, kIq2XxsLevels, 8, 32, 8>(x, weights);
  for (int s = 0; s < 8; ++s) {
    uint16_t* words = block.qs + 4 * s;
    uint32_t tail = static_cast<uint32_t>(fit.code[s]) << 28;
    for (int g = 0; g < 4; ++g) {
      words[g / 2] |= static_cast<uint16_t>(fit.point[4 * s + g] << (8 * (g % 2)));
      tail |= (signs[4 * s + g] & 127u) << (7 * g);
    }
    words[2] = static_cast<uint16_t>(tail);
    words[3] = static_cast<uint16_t>(tail >> 16);
  }
  float unit[256];
  block.d = 0x3c00;  // 1.0
  decode(block, unit);
  block.d = refit_d(in, unit, weights);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
