// Format q5_0: 32 values, one f16 scale, 5-bit values centred on 16, the fifth bits kept apart.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"

namespace tenon {

/// Layout (22 bytes):
///   0       2                       6                          22
///   | d f16 | qh[4]: bit j of the   | qs[16]: value j low nibble, |
///   |       | 32 is bit 4 of value j| value j + 16 high nibble    |
/// value = d * (q - 16). Source: type 6 of the GGUF specification; pinned by
/// tests/quant/vectors_test.
struct BlockQ5_0 {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  uint8_t qh[4];
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockQ5_0& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int j = 0; j < 16; ++j) {
    const int high0 = (block.qh[j / 8] >> (j % 8) & 1) << 4;
    const int high1 = (block.qh[2 + j / 8] >> (j % 8) & 1) << 4;
    out[j] = static_cast<float>((block.qs[j] & 15) + high0 - 16) * d;
    out[j + 16] = static_cast<float>((block.qs[j] >> 4) + high1 - 16) * d;
  }
}

/// in [32] finite. The scale is searched (fit.h).
template <typename Weights = EvenWeights>
void encode(const float* in, BlockQ5_0& block, Weights weights = {}) noexcept {
  block = {};
  block.d = scale_to_f16(fit_scale<32>(in, -16, 15, weights));
  const float inverse = inverse_step(f16_to_f32(block.d));
  for (int j = 0; j < 32; ++j) {
    const int q = level_of(in[j], 0.0f, inverse, -16, 15) + 16;
    block.qs[j % 16] |= static_cast<uint8_t>((q & 15) << (j / 16 * 4));
    block.qh[j / 8] |= static_cast<uint8_t>(q >> 4 << (j % 8));
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
