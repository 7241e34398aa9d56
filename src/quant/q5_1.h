// Format q5_1: 32 values, f16 scale and f16 minimum, 5-bit values, the fifth bits kept apart.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"

namespace tenon {

/// Layout (24 bytes):
///   0       2       4                       8                          24
///   | d f16 | m f16 | qh[4]: bit j of the   | qs[16]: value j low nibble, |
///   |       |       | 32 is bit 4 of value j| value j + 16 high nibble    |
/// value = q * d + m. Source: type 7 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockQ5_1 {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  uint16_t m;
  uint8_t qh[4];
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockQ5_1& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  const float m = f16_to_f32(block.m);
  for (int j = 0; j < 16; ++j) {
    const int high0 = (block.qh[j / 8] >> (j % 8) & 1) << 4;
    const int high1 = (block.qh[2 + j / 8] >> (j % 8) & 1) << 4;
    out[j] = static_cast<float>((block.qs[j] & 15) + high0) * d + m;
    out[j + 16] = static_cast<float>((block.qs[j] >> 4) + high1) * d + m;
  }
}

/// in [32] finite. Scale and minimum are searched (fit.h).
template <typename Weights = EvenWeights>
void encode(const float* in, BlockQ5_1& block, Weights weights = {}) noexcept {
  const AffineFit fit = fit_affine<32>(in, 31, false, weights);
  block = {};
  block.d = scale_to_f16(fit.scale);
  block.m = scale_to_f16(fit.minimum);
  const float inverse = inverse_step(f16_to_f32(block.d));
  const float minimum = f16_to_f32(block.m);
  for (int j = 0; j < 32; ++j) {
    const int q = level_of(in[j], minimum, inverse, 0, 31);
    block.qs[j % 16] |= static_cast<uint8_t>((q & 15) << (j / 16 * 4));
    block.qh[j / 8] |= static_cast<uint8_t>(q >> 4 << (j % 8));
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
