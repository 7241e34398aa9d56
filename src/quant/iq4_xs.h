// Format iq4_xs: 256 values in 8 sub-blocks of 32 with 6-bit scales, indices as in iq4_nl.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/iq4_values.h"

namespace tenon {

/// Layout (136 bytes):
///   0       2               4                     8                               136
///   | d f16 | scales_h: 2 b | scales_l[4]: 4 bits | qs[128]: 16 bytes per sub-block |
/// Sub-block s (0..7) has the low bits of its scale in the low (s even) or high nibble of
/// scales_l[s / 2], the high bits in bits 2s and 2s + 1 of scales_h. Value j of its 32 is the low
/// nibble of its byte j, value j + 16 the high nibble.
/// value = d * (scale - 32) * kIq4Values[q], products from left to right.
/// Source: type 23 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockIQ4_XS {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint16_t scales_h;
  uint8_t scales_l[4];
  uint8_t qs[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockIQ4_XS& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int s = 0; s < 8; ++s) {
    const int low = block.scales_l[s / 2] >> (s % 2 * 4) & 15;
    const int high = block.scales_h >> (2 * s) & 3;
    const float scale = d * static_cast<float>((low | high << 4) - 32);
    for (int j = 0; j < 16; ++j) {
      const uint8_t pair = block.qs[16 * s + j];
      out[32 * s + j] = scale * static_cast<float>(kIq4Values[pair & 15]);
      out[32 * s + j + 16] = scale * static_cast<float>(kIq4Values[pair >> 4]);
    }
  }
}

/// in [256] finite. Scales of sub-blocks are searched (iq4_values.h), then rounded to the best of
/// three neighbouring 6-bit codes.
template <typename Weights = EvenWeights>
void encode(const float* in, BlockIQ4_XS& block, Weights weights = {}) noexcept {
  float wanted[8];
  for (int s = 0; s < 8; ++s) wanted[s] = fit_iq4_scale(in + 32 * s, weights + 32 * s);
  block = {};
  block.d = scale_to_f16(signed_peak(wanted, 8) / -32.0f);
  const float d = f16_to_f32(block.d);
  for (int s = 0; s < 8; ++s) {
    const float* x = in + 32 * s;
    const int centre = level_of(wanted[s], 0.0f, inverse_step(d), -31, 30);
    int scale = centre;
    float least = -1.0f;
    for (int trial = centre - 1; trial <= centre + 1; ++trial) {
      const float error = iq4_error(x, d * static_cast<float>(trial), weights + 32 * s);
      if (least < 0.0f || error < least) {
        least = error;
        scale = trial;
      }
    }
    block.scales_l[s / 2] |= static_cast<uint8_t>(((scale + 32) & 15) << (s % 2 * 4));
    block.scales_h |= static_cast<uint16_t>((scale + 32) >> 4 << (2 * s));
    const float inverse = inverse_step(d * static_cast<float>(scale));
    for (int j = 0; j < 16; ++j) {
      const int low = nearest_iq4(x[j] * inverse);
      const int high = nearest_iq4(x[j + 16] * inverse);
      block.qs[16 * s + j] = static_cast<uint8_t>(low | high << 4);
    }
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
