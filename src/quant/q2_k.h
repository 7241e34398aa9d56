// Format q2_K: 256 values in 16 sub-blocks of 16, each with a 4-bit scale and a 4-bit minimum.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/k_fit.h"

namespace tenon {

/// Layout (84 bytes):
///   0                              16                       80      82         84
///   | scales[16]: sub-block s, low | qs[64]: see below      | d f16 | dmin f16 |
///   | nibble scale, high minimum   |                        |       |          |
/// Each half of 128 values takes 32 bytes of qs: value 32 * k + l of the half (k 0..3, l 0..31) is
/// bits 2k and 2k + 1 of byte l.
/// value = d * scale * q - dmin * minimum, products from left to right.
/// Source: type 10 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockQ2_K {
  static constexpr uint32_t kValues = 256;
  uint8_t scales[16];
  uint8_t qs[64];
  uint16_t d;
  uint16_t dmin;
};
static_assert(sizeof(BlockQ2_K) == 84);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockQ2_K& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (int s = 0; s < 16; ++s) {
    const float scale = d * static_cast<float>(block.scales[s] & 15);
    const float minimum = dmin * static_cast<float>(block.scales[s] >> 4);
    const uint8_t* qs = block.qs + s / 8 * 32 + s % 2 * 16;
    const int shift = s % 8 / 2 * 2;
    for (int l = 0; l < 16; ++l) {
      out[16 * s + l] = scale * static_cast<float>(qs[l] >> shift & 3) - minimum;
    }
  }
}

/// in [256] finite. Scales and minima are searched (k_fit.h).
template <typename Weights = EvenWeights>
void encode(const float* in, BlockQ2_K& block, Weights weights = {}) noexcept {
  KScale scales[16];
  const KBlockScales all = fit_k_affine<16, 16>(in, 3, 15, scales, weights);
  block = {};
  block.d = all.d;
  block.dmin = all.dmin;
  for (int s = 0; s < 16; ++s) {
    block.scales[s] = static_cast<uint8_t>(scales[s].scale | scales[s].minimum << 4);
    const float inverse = inverse_step(f16_to_f32(all.d) * static_cast<float>(scales[s].scale));
    const float minimum = -f16_to_f32(all.dmin) * static_cast<float>(scales[s].minimum);
    uint8_t* qs = block.qs + s / 8 * 32 + s % 2 * 16;
    const int shift = s % 8 / 2 * 2;
    for (int l = 0; l < 16; ++l) {
      const int q = level_of(in[16 * s + l], minimum, inverse, 0, 3);
      qs[l] |= static_cast<uint8_t>(q << shift);
    }
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
