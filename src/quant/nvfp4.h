// Format nvfp4: 64 values of the 4-bit float e2m1 in 4 sub-blocks of 16 with 8-bit float scales.
#pragma once

#include <cstdint>

#include "quant/fit.h"
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

/// in [64] finite. Tries the scales around peak / 6 of each sub-block and keeps the best.
inline void encode(const float* in, BlockNVFP4& block) noexcept {
  block = {};
  for (int s = 0; s < 4; ++s) {
    const float* x = in + 16 * s;
    const float peak = signed_peak(x, 16);
    const int centre = f32_to_ue4m3((peak < 0.0f ? -peak : peak) / 6.0f);
    double least = -1.0;
    for (int code = centre - 3; code <= centre + 5; ++code) {
      if (code < 1 || code > 0x7e) continue;
      const double error = fp4_error(x, 16, ue4m3_to_f32(static_cast<uint8_t>(code)) * 0.5f);
      if (least < 0.0 || error < least) {
        least = error;
        block.d[s] = static_cast<uint8_t>(code);
      }
    }
    const float step = ue4m3_to_f32(block.d[s]) * 0.5f;
    for (int j = 0; j < 8; ++j) {
      const int low = nearest_fp4(x[j] / step);
      const int high = nearest_fp4(x[j + 8] / step);
      block.qs[8 * s + j] = static_cast<uint8_t>(low | high << 4);
    }
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
