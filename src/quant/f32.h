// Format f32: plain IEEE 754 binary32 values, here so that every tensor type has a row codec.
#pragma once

#include <cstdint>

#include "quant/isa.h"

namespace tenon {

/// One value, little-endian.
struct BlockF32 {
  static constexpr uint32_t kValues = 1;
  float value;
};
static_assert(sizeof(BlockF32) == 4);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockF32& block, float* out) noexcept { out[0] = block.value; }

inline void encode(const float* in, BlockF32& block) noexcept { block.value = in[0]; }

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
