// Format f16: plain IEEE 754 binary16 values. The conversion itself is in half.h.
#pragma once

#include <cstdint>

#include "quant/half.h"

namespace tenon {

/// One value, little-endian: sign 15, exponent 14..10 (bias 15), mantissa 9..0.
struct BlockF16 {
  static constexpr uint32_t kValues = 1;
  uint16_t bits;
};
static_assert(sizeof(BlockF16) == 2);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockF16& block, float* out) noexcept { out[0] = f16_to_f32(block.bits); }

inline void encode(const float* in, BlockF16& block) noexcept { block.bits = f32_to_f16(in[0]); }

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
