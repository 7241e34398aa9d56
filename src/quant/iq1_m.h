// Format iq1_m: the ternary codebook of iq1_s with an offset per eight and a scale per 16 values.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/iq1_fit.h"
#include "quant/iq1_grid.h"

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

/// Writes the four words of scales with the nibbles of the f16 d on top.
inline void iq1_m_write(const int* words, uint16_t d, BlockIQ1_M& block) noexcept {
  for (int w = 0; w < 4; ++w) {
    const int word = words[w] | (d >> (4 * w) & 15) << 12;
    block.scales[2 * w] = static_cast<uint8_t>(word);
    block.scales[2 * w + 1] = static_cast<uint8_t>(word >> 8);
  }
}

/// in [256] finite. Points and scales are searched over the whole codebook (iq1_fit.h): slow.
template <typename Weights = EvenWeights>
void encode(const float* in, BlockIQ1_M& block, Weights weights = {}) noexcept {
  block = {};
  float x[256];
  const float peak = signed_peak(in, 256);
  if (!(peak < -kSmallestPeak || peak > kSmallestPeak)) return;
  normalise(in, 256, peak, x);
  const Iq1Fit<16> fit = fit_iq1<16, 1>(x, weights);
  for (int g = 0; g < 32; ++g) {
    const int nibble = fit.codebook.point[g] >> 8 | (fit.negative[g] ? 8 : 0);
    block.qs[g] = static_cast<uint8_t>(fit.codebook.point[g]);
    block.qh[g / 2] |= static_cast<uint8_t>(nibble << (g % 2 * 4));
  }
  int words[4] = {};
  for (int t = 0; t < 16; ++t) words[t / 4] |= fit.codebook.code[t] << (3 * (t % 4));
  float unit[256];
  iq1_m_write(words, 0x3c00, block);  // d = 1.0
  decode(block, unit);
  iq1_m_write(words, refit_d(in, unit, weights), block);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
