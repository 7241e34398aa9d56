// Format q4_0: 32 values, one f16 scale, 4-bit values centred on 8.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"

namespace tenon {

/// Layout (18 bytes):
///   0       2                          18
///   | d f16 | qs[16]: value j low nibble, value j + 16 high nibble |
/// value = d * (q - 8). Source: type 2 of the GGUF specification; pinned by
/// tests/quant/vectors_test.
struct BlockQ4_0 {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockQ4_0& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>((block.qs[j] & 15) - 8) * d;
    out[j + 16] = static_cast<float>((block.qs[j] >> 4) - 8) * d;
  }
}

/// in [32] finite. The scale is searched (fit.h), so the error is below that of peak / 8.
template <typename Weights = EvenWeights>
void encode(const float* in, BlockQ4_0& block, Weights weights = {}) noexcept {
  block.d = scale_to_f16(fit_scale<32>(in, -8, 7, weights));
  const float inverse = inverse_step(f16_to_f32(block.d));
  for (int j = 0; j < 16; ++j) {
    const int low = level_of(in[j], 0.0f, inverse, -8, 7) + 8;
    const int high = level_of(in[j + 16], 0.0f, inverse, -8, 7) + 8;
    block.qs[j] = static_cast<uint8_t>(low | high << 4);
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
