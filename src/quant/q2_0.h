// Format q2_0: 64 values, one f16 scale, 2-bit values that stand for -1, 0, 1, 2.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"

namespace tenon {

/// Layout (18 bytes):
///   0       2                                                         18
///   | d f16 | qs[16]: value j is bits 2 * (j % 4) and up of byte j / 4 |
/// value = d * (q - 1). Source: type 42 of the GGUF specification; pinned by
/// tests/quant/vectors_test.
struct BlockQ2_0 {
  static constexpr uint32_t kValues = 64;
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ2_0) == 18);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockQ2_0& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int j = 0; j < 64; ++j) {
    out[j] = static_cast<float>((block.qs[j / 4] >> (2 * (j % 4)) & 3) - 1) * d;
  }
}

/// in [64] finite. The scale is searched (fit.h). It is negative if the block's longer side is
/// negative.
inline void encode(const float* in, BlockQ2_0& block) noexcept {
  block = {};
  block.d = scale_to_f16(fit_scale<64>(in, -1, 2));
  const float inverse = inverse_step(f16_to_f32(block.d));
  for (int j = 0; j < 64; ++j) {
    const int q = level_of(in[j], 0.0f, inverse, -1, 2) + 1;
    block.qs[j / 4] |= static_cast<uint8_t>(q << (2 * (j % 4)));
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
