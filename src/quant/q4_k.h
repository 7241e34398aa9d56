// Format q4_K: 256 values in 8 sub-blocks of 32, each with a 6-bit scale and a 6-bit minimum.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/k_fit.h"
#include "quant/k_scales.h"

namespace tenon {

/// Layout (144 bytes):
///   0       2          4                           16                    144
///   | d f16 | dmin f16 | scales[12]: see k_scales.h | qs[128]: see below |
/// Each quarter of 64 values takes 32 bytes of qs: value l is the low nibble of byte l, value
/// 32 + l the high nibble.
/// value = d * scale * q - dmin * minimum, products from left to right.
/// Source: type 12 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockQ4_K {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t qs[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockQ4_K& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (int s = 0; s < 8; ++s) {
    const KScale k = read_k_scale(block.scales, s);
    const float scale = d * static_cast<float>(k.scale);
    const float minimum = dmin * static_cast<float>(k.minimum);
    const uint8_t* qs = block.qs + s / 2 * 32;
    const int shift = s % 2 * 4;
    for (int l = 0; l < 32; ++l) {
      out[32 * s + l] = scale * static_cast<float>(qs[l] >> shift & 15) - minimum;
    }
  }
}

/// in [256] finite. Scales and minima are searched (k_fit.h).
template <typename Weights = EvenWeights>
void encode(const float* in, BlockQ4_K& block, Weights weights = {}) noexcept {
  KScale scales[8];
  const KBlockScales all = fit_k_affine<8, 32>(in, 15, 63, scales, weights);
  block = {};
  block.d = all.d;
  block.dmin = all.dmin;
  write_k_scales(scales, block.scales);
  for (int s = 0; s < 8; ++s) {
    const float inverse = inverse_step(f16_to_f32(all.d) * static_cast<float>(scales[s].scale));
    const float minimum = -f16_to_f32(all.dmin) * static_cast<float>(scales[s].minimum);
    for (int l = 0; l < 32; ++l) {
      const int q = level_of(in[32 * s + l], minimum, inverse, 0, 15);
      block.qs[s / 2 * 32 + l] |= static_cast<uint8_t>(q << (s % 2 * 4));
    }
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
