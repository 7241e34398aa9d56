// Format iq3_s: 256 values in groups of four, each a point of a 512-point codebook with free signs.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/iq3_s_grid.h"
#include "quant/iq_fit.h"
#include "quant/iq_signs.h"

namespace tenon {

/// Layout (110 bytes):
///   0       2                     66                  74                     106         110
///   | d f16 | qs[64]: low 8 bits  | qh[8]: bit g % 8  | signs[32]: bit j of  | scales[4] |
///   |       | of group g's index  | of byte g / 8 is  | byte k: value 8k + j | 2 nibbles |
///   |       |                     | bit 8 of group g  |                      |           |
/// The low nibble of scales[s / 2] is for sub-block s (32 values) when s is even, the high when
/// odd. value = d * (2 * scale + 1) * grid * sign. Source: type 21 of the GGUF specification;
/// pinned by tests/quant/vectors_test.
struct BlockIQ3_S {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint8_t qs[64];
  uint8_t qh[8];
  uint8_t signs[32];
  uint8_t scales[4];
};
static_assert(sizeof(BlockIQ3_S) == 110);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockIQ3_S& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 64; ++g) {
    const int nibble = block.scales[g / 16] >> (g / 8 % 2 * 4) & 15;
    const float scale = d * static_cast<float>(1 + 2 * nibble);
    const int high = block.qh[g / 8] >> (g % 8) & 1;
    const uint16_t point = kIq3SGrid[block.qs[g] | high << 8];
    for (int j = 0; j < 4; ++j) {
      const float level = static_cast<float>(kIq3SLevels[point >> (3 * j) & 7]);
      *out++ = with_sign(scale * level, block.signs[g / 2], g % 2 * 4 + j);
    }
  }
}

/// in [256] finite. Points and scales are searched over the whole codebook (iq_fit.h): slow.
template <typename Weights = EvenWeights>
void encode(const float* in, BlockIQ3_S& block, Weights weights = {}) noexcept {
  block = {};
  float x[256];
  const float peak = signed_peak(in, 256);
  if (!(peak < -kSmallestPeak || peak > kSmallestPeak)) return;
  normalise(in, 256, peak, x);
  for (int k = 0; k < 32; ++k) block.signs[k] = take_signs(x + 8 * k, false, weights + 8 * k);
  const auto fit = fit_codebook<kIq3SGrid, kIq3SLevels, 4, 64, 8>(x, weights);
  for (int g = 0; g < 64; ++g) {
    block.qs[g] = static_cast<uint8_t>(fit.point[g]);
    block.qh[g / 8] |= static_cast<uint8_t>(fit.point[g] >> 8 << (g % 8));
  }
  for (int s = 0; s < 4; ++s) {
    block.scales[s] = static_cast<uint8_t>(fit.code[2 * s] | fit.code[2 * s + 1] << 4);
  }
  float unit[256];
  block.d = 0x3c00;  // 1.0
  decode(block, unit);
  block.d = refit_d(in, unit, weights);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
