// Format iq4_nl: 32 values, one f16 scale, 4-bit indices of sixteen non-uniform values.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/iq4_values.h"

namespace tenon {

/// Layout (18 bytes):
///   0       2                                                      18
///   | d f16 | qs[16]: value j low nibble, value j + 16 high nibble |
/// value = d * kIq4Values[q]. Source: type 20 of the GGUF specification; pinned by
/// tests/quant/vectors_test.
struct BlockIQ4_NL {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockIQ4_NL& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int j = 0; j < 16; ++j) {
    out[j] = d * static_cast<float>(kIq4Values[block.qs[j] & 15]);
    out[j + 16] = d * static_cast<float>(kIq4Values[block.qs[j] >> 4]);
  }
}

/// in [32] finite. The scale is searched (iq4_values.h).
template <typename Weights = EvenWeights>
void encode(const float* in, BlockIQ4_NL& block, Weights weights = {}) noexcept {
  block.d = scale_to_f16(fit_iq4_scale(in, weights));
  const float inverse = inverse_step(f16_to_f32(block.d));
  for (int j = 0; j < 16; ++j) {
    const int low = nearest_iq4(in[j] * inverse);
    const int high = nearest_iq4(in[j + 16] * inverse);
    block.qs[j] = static_cast<uint8_t>(low | high << 4);
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
