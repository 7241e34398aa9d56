// Format tq2_0: 256 ternary values in two bits each, one f16 scale.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"

namespace tenon {

/// Layout (66 bytes):
///   0                    64      66
///   | qs[64]: see below  | d f16 |
/// Each half of 128 values takes 32 bytes of qs: value 32 * k + l of the half (k 0..3, l 0..31) is
/// bits 2k and 2k + 1 of byte l.
/// value = d * (q - 1); q is 0..2 in practice, 3 (never written) gives 2 * d.
/// Source: type 35 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockTQ2_0 {
  static constexpr uint32_t kValues = 256;
  uint8_t qs[64];
  uint16_t d;
};
static_assert(sizeof(BlockTQ2_0) == 66);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockTQ2_0& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < 256; ++i) {
    const int q = block.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    out[i] = static_cast<float>(q - 1) * d;
  }
}

/// in [256] finite. The scale is searched (fit.h); ternary values are encoded exactly.
inline void encode(const float* in, BlockTQ2_0& block) noexcept {
  block = {};
  block.d = scale_to_f16(fit_scale<256>(in, -1, 1));
  const float inverse = inverse_step(f16_to_f32(block.d));
  for (int i = 0; i < 256; ++i) {
    const int q = level_of(in[i], 0.0f, inverse, -1, 1) + 1;
    block.qs[i / 128 * 32 + i % 32] |= static_cast<uint8_t>(q << (i % 128 / 32 * 2));
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
