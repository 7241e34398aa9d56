// Format q5_K: q4_K with a fifth bit per value, kept apart.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/k_fit.h"
#include "quant/k_scales.h"

namespace tenon {

/// Layout (176 bytes):
///   0       2          4                           16                    48                  176
///   | d f16 | dmin f16 | scales[12]: see k_scales.h | qh[32]: fifth bits | qs[128]: low bits |
/// Each quarter of 64 values takes 32 bytes of qs: value l is the low nibble of byte l, value
/// 32 + l the high nibble. Value l of sub-block s (0..7, 32 values) has its fifth bit in bit s of
/// qh[l].
/// value = d * scale * q - dmin * minimum, products from left to right.
/// Source: type 13 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockQ5_K {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockQ5_K& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (int s = 0; s < 8; ++s) {
    const KScale k = read_k_scale(block.scales, s);
    const float scale = d * static_cast<float>(k.scale);
    const float minimum = dmin * static_cast<float>(k.minimum);
    const uint8_t* qs = block.qs + s / 2 * 32;
    const int shift = s % 2 * 4;
    for (int l = 0; l < 32; ++l) {
      const int q = (qs[l] >> shift & 15) | (block.qh[l] >> s & 1) << 4;
      out[32 * s + l] = scale * static_cast<float>(q) - minimum;
    }
  }
}

/// in [256] finite. Scales and minima are searched (k_fit.h).
template <typename Weights = EvenWeights>
void encode(const float* in, BlockQ5_K& block, Weights weights = {}) noexcept {
  KScale scales[8];
  const KBlockScales all = fit_k_affine<8, 32>(in, 31, 63, scales, weights);
  block = {};
  block.d = all.d;
  block.dmin = all.dmin;
  write_k_scales(scales, block.scales);
  for (int s = 0; s < 8; ++s) {
    const float inverse = inverse_step(f16_to_f32(all.d) * static_cast<float>(scales[s].scale));
    const float minimum = -f16_to_f32(all.dmin) * static_cast<float>(scales[s].minimum);
    for (int l = 0; l < 32; ++l) {
      const int q = level_of(in[32 * s + l], minimum, inverse, 0, 31);
      block.qs[s / 2 * 32 + l] |= static_cast<uint8_t>((q & 15) << (s % 2 * 4));
      block.qh[l] |= static_cast<uint8_t>(q >> 4 << s);
    }
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
