// Format q8_0: 32 values, one f16 scale, signed bytes.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"

namespace tenon {

/// Layout (34 bytes):
///   0       2                   34
///   | d f16 | qs[32]: value j i8 |
/// value = d * q. Source: type 8 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockQ8_0 {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  int8_t qs[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockQ8_0& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(block.qs[j]) * d;
}

/// in [32] finite. The peak takes level 127; at eight bits a search gains nothing.
inline void encode(const float* in, BlockQ8_0& block) noexcept {
  const float peak = signed_peak(in, 32);
  block.d = scale_to_f16((peak < 0.0f ? -peak : peak) / 127.0f);
  const float inverse = inverse_step(f16_to_f32(block.d));
  for (int j = 0; j < 32; ++j) {
    block.qs[j] = static_cast<int8_t>(level_of(in[j], 0.0f, inverse, -127, 127));
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
