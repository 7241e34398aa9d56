// Format q4_1: 32 values, f16 scale and f16 minimum, 4-bit values.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"

namespace tenon {

/// Layout (20 bytes):
///   0       2       4                          20
///   | d f16 | m f16 | qs[16]: value j low nibble, value j + 16 high nibble |
/// value = q * d + m. Source: type 3 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockQ4_1 {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  uint16_t m;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockQ4_1& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  const float m = f16_to_f32(block.m);
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>(block.qs[j] & 15) * d + m;
    out[j + 16] = static_cast<float>(block.qs[j] >> 4) * d + m;
  }
}

/// in [32] finite. Scale and minimum are searched (fit.h).
template <typename Weights = EvenWeights>
void encode(const float* in, BlockQ4_1& block, Weights weights = {}) noexcept {
  const AffineFit fit = fit_affine<32>(in, 15, false, weights);
  block.d = scale_to_f16(fit.scale);
  block.m = scale_to_f16(fit.minimum);
  const float inverse = inverse_step(f16_to_f32(block.d));
  const float minimum = f16_to_f32(block.m);
  for (int j = 0; j < 16; ++j) {
    const int low = level_of(in[j], minimum, inverse, 0, 15);
    const int high = level_of(in[j + 16], minimum, inverse, 0, 15);
    block.qs[j] = static_cast<uint8_t>(low | high << 4);
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
