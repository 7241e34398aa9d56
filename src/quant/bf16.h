// Format bf16: plain bfloat16 values. The conversion itself is in half.h.
#pragma once

#include <cstdint>

#include "quant/half.h"

namespace tenon {

/// One value, little-endian: sign 15, exponent 14..7 (bias 127), mantissa 6..0.
struct BlockBF16 {
  static constexpr uint32_t kValues = 1;
  uint16_t bits;
};
static_assert(sizeof(BlockBF16) == 2);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockBF16& block, float* out) noexcept {
  out[0] = bf16_to_f32(block.bits);
}

inline void encode(const float* in, BlockBF16& block) noexcept { block.bits = f32_to_bf16(in[0]); }

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
