// Format q1_0: 128 signs with one f16 magnitude.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"

namespace tenon {

/// Layout (18 bytes):
///   0       2                                          18
///   | d f16 | qs[16]: value j is bit j % 8 of byte j / 8 |
/// value = bit ? d : -d. Source: type 41 of the GGUF specification; pinned by
/// tests/quant/vectors_test.
struct BlockQ1_0 {
  static constexpr uint32_t kValues = 128;
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ1_0) == 18);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockQ1_0& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int j = 0; j < 128; ++j) out[j] = (block.qs[j / 8] >> (j % 8) & 1) != 0 ? d : -d;
}

/// in [128] finite. The mean magnitude is the least-squares d.
inline void encode(const float* in, BlockQ1_0& block) noexcept {
  block = {};
  double sum = 0.0;
  for (int j = 0; j < 128; ++j) {
    sum += in[j] < 0.0f ? -in[j] : in[j];
    if (!(in[j] < 0.0f)) block.qs[j / 8] |= static_cast<uint8_t>(1 << (j % 8));
  }
  block.d = scale_to_f16(static_cast<float>(sum / 128.0));
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
