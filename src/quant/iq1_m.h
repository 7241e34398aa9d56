// Format iq1_m: the ternary codebook of iq1_s with an offset per eight and a scale per 16 values.
#pragma once

#include <cstdint>

#include "quant/half.h"
#include "quant/iq1_grid.h"
#include "quant/iq1_s.h"

namespace tenon {

/// Layout (56 bytes):
///   0                     32                           48                           56
///   | qs[32]: low 8 bits  | qh[16]: a nibble per group | scales[8]: 4 words of four |
///   | of group g's index  | (even group low)           | 3-bit scales + 4 bits of d |
/// A nibble is bits 8..10 of the index and the sign of the offset (bit 3). Scale t (0..15, for 16
/// values) is bits 3 * (t % 4) and up of word t / 4; the top nibbles of words 0..3, lowest first,
/// are the f16 d.
/// value = d * (2 * scale + 1) * (grid + offset), offset = +-1/8.
/// Source: type 29 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockIQ1_M {
  static constexpr uint32_t kValues = 256;
  uint8_t qs[32];
  uint8_t qh[16];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ1_M) == 56);

inline namespace TENON_QUANT_ISA {

/// Word w (0..3) of the scales, little-endian.
constexpr int iq1_m_word(const BlockIQ1_M& block, int w) noexcept {
  return block.scales[2 * w] | block.scales[2 * w + 1] << 8;
}

inline void decode(const BlockIQ1_M& block, float* out) noexcept {
  int d_bits = 0;
  for (int w = 0; w < 4; ++w) d_bits |= iq1_m_word(block, w) >> 12 << (4 * w);
  const float d = f16_to_f32(static_cast<uint16_t>(d_bits));
  for (int g = 0; g < 32; ++g) {
    const int t = g / 2;
    const int code = iq1_m_word(block, t / 4) >> (3 * (t % 4)) & 7;
    const float scale = d * static_cast<float>(2 * code + 1);
    const int nibble = block.qh[g / 2] >> (g % 2 * 4) & 15;
    const float offset = (nibble & 8) != 0 ? -kIq1Offset : kIq1Offset;
    const uint16_t point = kIq1Grid[block.qs[g] | (nibble & 7) << 8];
    for (int j = 0; j < 8; ++j) {
      *out++ = scale * (static_cast<float>(kIq1Levels[point >> (2 * j) & 3]) + offset);
    }
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
