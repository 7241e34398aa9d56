// Format q3_K: 256 values in 16 sub-blocks of 16 with 6-bit scales, 3-bit values centred on 4.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/k_fit.h"

namespace tenon {

/// Layout (110 bytes):
///   0                       32                  96                     108     110
///   | hmask[32]: third bits | qs[64]: low bits  | scales[12]: 16 x 6 b | d f16 |
/// Each half of 128 values takes 32 bytes of qs: value 32 * k + l of half h (k 0..3, l 0..31) has
/// its low bits in bits 2k and 2k + 1 of qs[32 * h + l], its third bit in bit 4h + k of hmask[l].
/// Scale s (0..15) has its low nibble in the low (s < 8) or high nibble of scales[s % 8], its high
/// two bits in bits 2 * (s / 4) and up of scales[8 + s % 4].
/// value = d * (scale - 32) * (q - 4), products from left to right.
/// Source: type 11 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockQ3_K {
  static constexpr uint32_t kValues = 256;
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  uint16_t d;
};
static_assert(sizeof(BlockQ3_K) == 110);

inline namespace TENON_QUANT_ISA {

/// The 6-bit scale of sub-block s (0..15), 0..63.
constexpr int q3_k_scale(const BlockQ3_K& block, int s) noexcept {
  const int low = block.scales[s % 8] >> (s < 8 ? 0 : 4) & 15;
  const int high = block.scales[8 + s % 4] >> (2 * (s / 4)) & 3;
  return low | high << 4;
}

inline void decode(const BlockQ3_K& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int s = 0; s < 16; ++s) {
    const float scale = d * static_cast<float>(q3_k_scale(block, s) - 32);
    const int half = s / 8;
    const int k = s % 8 / 2;
    const int first = s % 2 * 16;
    for (int l = 0; l < 16; ++l) {
      const int low = block.qs[32 * half + first + l] >> (2 * k) & 3;
      const int high = block.hmask[first + l] >> (4 * half + k) & 1;
      out[16 * s + l] = scale * static_cast<float>(low + 4 * high - 4);
    }
  }
}

/// in [256] finite. Scales are searched (k_fit.h).
template <typename Weights = EvenWeights>
void encode(const float* in, BlockQ3_K& block, Weights weights = {}) noexcept {
  int scales[16];
  block = {};
  block.d = fit_k_scales<16, 16>(in, -4, 3, -32, scales, weights);
  const float d = f16_to_f32(block.d);
  for (int s = 0; s < 16; ++s) {
    const int scale = scales[s] + 32;
    block.scales[s % 8] |= static_cast<uint8_t>((scale & 15) << (s < 8 ? 0 : 4));
    block.scales[8 + s % 4] |= static_cast<uint8_t>(scale >> 4 << (2 * (s / 4)));
    const float inverse = inverse_step(d * static_cast<float>(scales[s]));
    const int half = s / 8;
    const int k = s % 8 / 2;
    const int first = s % 2 * 16;
    for (int l = 0; l < 16; ++l) {
      const int q = level_of(in[16 * s + l], 0.0f, inverse, -4, 3) + 4;
      block.qs[32 * half + first + l] |= static_cast<uint8_t>((q & 3) << (2 * k));
      block.hmask[first + l] |= static_cast<uint8_t>(q >> 2 << (4 * half + k));
    }
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
