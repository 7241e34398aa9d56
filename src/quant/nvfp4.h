// Format nvfp4: 64 values of the 4-bit float e2m1 in 4 sub-blocks of 16 with 8-bit float scales.
#pragma once

#include <cstdint>

#include "quant/fp4.h"
#include "quant/half.h"

namespace tenon {

/// Layout (36 bytes):
///   0                                  4                                            36
///   | d[4]: ue4m3 scale of sub-block s | qs[32]: 8 bytes per sub-block: value j low |
///   |                                  | nibble, value j + 8 high nibble of byte j  |
/// value = ue4m3(d) / 2 * kFp4Doubled[q].
/// Source: type 40 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockNVFP4 {
  static constexpr uint32_t kValues = 64;
  uint8_t d[4];
  uint8_t qs[32];
};
static_assert(sizeof(BlockNVFP4) == 36);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockNVFP4& block, float* out) noexcept {
  for (int s = 0; s < 4; ++s) {
    const float d = ue4m3_to_f32(block.d[s]) * 0.5f;
    for (int j = 0; j < 8; ++j) {
      const uint8_t pair = block.qs[8 * s + j];
      out[16 * s + j] = static_cast<float>(kFp4Doubled[pair & 15]) * d;
      out[16 * s + j + 8] = static_cast<float>(kFp4Doubled[pair >> 4]) * d;
    }
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
