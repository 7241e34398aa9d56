// Format iq3_xxs: 256 values in groups of four, each a point of a 256-point codebook with signs.
#pragma once

#include <cstdint>
#include <cstring>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/iq3_xxs_grid.h"
#include "quant/iq_fit.h"
#include "quant/iq_signs.h"

namespace tenon {

/// Layout (98 bytes):
///   0       2                              66                                98
///   | d f16 | qs[64]: grid index of group g| tails[32]: 32 bits per 32 values |
/// A tail is four 7-bit sign codes (values 8k..8k+7 at bit 7k) and a 4-bit scale (bits 28..31).
/// value = d * (scale + 1/2) / 2 * grid * sign.
/// Source: type 18 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockIQ3_XXS {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint8_t qs[64];
  uint8_t tails[32];
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockIQ3_XXS& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int s = 0; s < 8; ++s) {
    uint32_t tail = 0;
    std::memcpy(&tail, block.tails + 4 * s, sizeof(tail));
    const float scale = d * (0.5f + static_cast<float>(tail >> 28)) * 0.5f;
    for (int k = 0; k < 4; ++k) {
      const uint8_t signs = expand_signs(tail >> (7 * k));
      for (int j = 0; j < 8; ++j) {
        const uint16_t point = kIq3XxsGrid[block.qs[8 * s + 2 * k + j / 4]];
        const float level = static_cast<float>(kIq3XxsLevels[point >> (3 * (j % 4)) & 7]);
        *out++ = with_sign(scale * level, signs, j);
      }
    }
  }
}

/// in [256] finite. Points and scales are searched over the whole codebook (iq_fit.h): slow.
template <typename Weights = EvenWeights>
void encode(const float* in, BlockIQ3_XXS& block, Weights weights = {}) noexcept {
  block = {};
  float x[256];
  const float peak = signed_peak(in, 256);
  if (!(peak < -kSmallestPeak || peak > kSmallestPeak)) return;
  normalise(in, 256, peak, x);
  uint8_t signs[32];
  for (int k = 0; k < 32; ++k) signs[k] = take_signs(x + 8 * k, true, weights + 8 * k);
  const auto fit = fit_codebook<kIq3XxsGrid, kIq3XxsLevels, 4, 64, 8>(x, weights);
  for (int g = 0; g < 64; ++g) block.qs[g] = static_cast<uint8_t>(fit.point[g]);
  for (int s = 0; s < 8; ++s) {
    uint32_t tail = static_cast<uint32_t>(fit.code[s]) << 28;
    for (int k = 0; k < 4; ++k) tail |= (signs[4 * s + k] & 127u) << (7 * k);
    std::memcpy(block.tails + 4 * s, &tail, sizeof(tail));
  }
  float unit[256];
  block.d = 0x3c00;  // 1.0
  decode(block, unit);
  block.d = refit_d(in, unit, weights);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
