// Format mxfp4: 32 values of the 4-bit float e2m1 with one power-of-two scale.
#pragma once

#include <cstdint>

#include "quant/fp4.h"
#include "quant/half.h"

namespace tenon {

/// Layout (17 bytes):
///   0        1                                                      17
///   | e e8m0 | qs[16]: value j low nibble, value j + 16 high nibble |
/// value = 2^(e - 128) * kFp4Doubled[q].
/// Source: OCP Microscaling Formats 1.0, MXFP4; type 39 of the GGUF specification; pinned by
/// tests/quant/vectors_test.
struct BlockMXFP4 {
  static constexpr uint32_t kValues = 32;
  uint8_t e;
  uint8_t qs[16];
};
static_assert(sizeof(BlockMXFP4) == 17);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockMXFP4& block, float* out) noexcept {
  const float d = e8m0_half_to_f32(block.e);
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>(kFp4Doubled[block.qs[j] & 15]) * d;
    out[j + 16] = static_cast<float>(kFp4Doubled[block.qs[j] >> 4]) * d;
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
