// Unpacks blocks of packed formats into plain integers, and turns these into f32 with the float
// operations of each format's decoder. Used to pack weights and to read rows back.
#pragma once

#include <cstring>

#include "backends/cpu/layouts/panels.h"
#include "quant/half.h"
#include "quant/iq1_m.h"
#include "quant/iq1_s.h"
#include "quant/iq2_s.h"
#include "quant/iq2_xs.h"
#include "quant/iq2_xxs.h"
#include "quant/iq3_s.h"
#include "quant/iq3_xxs.h"
#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/k_scales.h"
#include "quant/mxfp4.h"
#include "quant/nvfp4.h"
#include "quant/q1_0.h"
#include "quant/q2_0.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"
#include "quant/tq1_0.h"
#include "quant/tq2_0.h"

namespace tenon::cpu {
namespace {

/// Value j of 32 in the low nibble of byte j, value j + 16 in the high one.
inline void nibbles_of_32(const uint8_t* qs, uint8_t* q) noexcept {
  for (int j = 0; j < 16; ++j) {
    q[j] = qs[j] & 15;
    q[j + 16] = qs[j] >> 4;
  }
}

/// Bit j of the 32 in qh[4] is bit 4 of value j.
inline void add_fifth_bits(const uint8_t* qh, uint8_t* q) noexcept {
  for (int j = 0; j < 32; ++j) q[j] |= static_cast<uint8_t>((qh[j / 8] >> (j % 8) & 1) << 4);
}

/// The nibbles, scales and minima that q4_K and q5_K share.
template <typename Block>
void extract_k(const Block& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  plain.min = block.dmin;
  for (int s = 0; s < 8; ++s) {
    const KScale k = read_k_scale(block.scales, s);
    plain.scales[s] = static_cast<uint8_t>(k.scale);
    plain.mins[s] = static_cast<uint8_t>(k.minimum);
    for (int l = 0; l < 32; ++l) {
      plain.q[32 * s + l] = block.qs[s / 2 * 32 + l] >> (s % 2 * 4) & 15;
    }
  }
}

inline void extract(const BlockQ4_0& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  nibbles_of_32(block.qs, plain.q);
}
inline void extract(const BlockQ4_1& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  plain.min = block.m;
  nibbles_of_32(block.qs, plain.q);
}
inline void extract(const BlockQ5_0& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  nibbles_of_32(block.qs, plain.q);
  add_fifth_bits(block.qh, plain.q);
}
inline void extract(const BlockQ5_1& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  plain.min = block.m;
  nibbles_of_32(block.qs, plain.q);
  add_fifth_bits(block.qh, plain.q);
}
inline void extract(const BlockQ8_0& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  std::memcpy(plain.q, block.qs, sizeof(block.qs));
}
inline void extract(const BlockQ4_K& block, BlockValues& plain) noexcept {
  extract_k(block, plain);
}
inline void extract(const BlockQ5_K& block, BlockValues& plain) noexcept {
  extract_k(block, plain);
  for (int k = 0; k < 256; ++k) {
    plain.q[k] |= static_cast<uint8_t>((block.qh[k % 32] >> (k / 32) & 1) << 4);
  }
}
inline void extract(const BlockQ6_K& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  std::memcpy(plain.scales, block.scales, sizeof(block.scales));
  for (int half = 0; half < 2; ++half) {
    for (int k = 0; k < 4; ++k) {
      const uint8_t* low = block.ql + 64 * half + 32 * (k % 2);
      const uint8_t* high = block.qh + 32 * half;
      uint8_t* q = plain.q + 128 * half + 32 * k;
      for (int l = 0; l < 32; ++l) {
        q[l] = static_cast<uint8_t>((low[l] >> (k / 2 * 4) & 15) | (high[l] >> (2 * k) & 3) << 4);
      }
    }
  }
}

inline void extract(const BlockQ1_0& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  for (int k = 0; k < 128; ++k) plain.q[k] = block.qs[k / 8] >> (k % 8) & 1;
}
inline void extract(const BlockQ2_0& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  for (int k = 0; k < 64; ++k) plain.q[k] = block.qs[k / 4] >> (2 * (k % 4)) & 3;
}
/// 256 values of two bits: 32 bytes for each 128, value 32 i + l in bits 2 i and up of byte l.
inline void pairs_of_bits(const uint8_t* qs, uint8_t* q) noexcept {
  for (int k = 0; k < 256; ++k) q[k] = qs[k / 128 * 32 + k % 32] >> (k % 128 / 32 * 2) & 3;
}
inline void extract(const BlockTQ2_0& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  pairs_of_bits(block.qs, plain.q);
}
inline void extract(const BlockTQ1_0& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  float digits[256];
  decode_trits(block.qs, 32, 5, 1.0f, digits);
  decode_trits(block.qs + 32, 16, 5, 1.0f, digits + 160);
  decode_trits(block.qh, 4, 4, 1.0f, digits + 240);
  for (int k = 0; k < 256; ++k) plain.q[k] = static_cast<uint8_t>(digits[k] + 1.0f);
}
inline void extract(const BlockQ2_K& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  plain.min = block.dmin;
  std::memcpy(plain.scales, block.scales, sizeof(block.scales));
  pairs_of_bits(block.qs, plain.q);
}
inline void extract(const BlockQ3_K& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  for (int s = 0; s < 16; ++s) plain.scales[s] = static_cast<uint8_t>(q3_k_scale(block, s) - 32);
  pairs_of_bits(block.qs, plain.q);
  for (int k = 0; k < 256; ++k) {
    plain.q[k] |= static_cast<uint8_t>((block.hmask[k % 32] >> (k / 32) & 1) << 2);
  }
}
/// The eight levels of two bits of a point as bytes, value 0 lowest.
constexpr uint64_t level_bytes(uint16_t point) noexcept {
  uint64_t x = point;
  x = (x | x << 24) & 0x000000FF000000FF;
  x = (x | x << 12) & 0x000F000F000F000F;
  return (x | x << 6) & 0x0303030303030303;
}
/// The four levels of three bits of a point as bytes.
constexpr uint64_t four_level_bytes(uint16_t point) noexcept {
  const uint64_t x = point;
  return (x & 7) | (x & 7 << 3) << 5 | (x & 7 << 6) << 10 | (x & 7 << 9) << 15;
}
/// Bit j as bit 0 of byte j.
constexpr uint64_t bit_bytes(uint8_t bits) noexcept {
  uint64_t x = bits;
  x = (x | x << 28) & 0x0000000F0000000F;
  x = (x | x << 14) & 0x0003000300030003;
  return (x | x << 7) & 0x0101010101010101;
}
inline void put_eight(uint64_t bytes, uint8_t* q) noexcept {
  std::memcpy(q, &bytes, sizeof(bytes));
}

/// Splits the two scales in each block's byte: four bytes of first scales, then four of second
/// scales.
inline void put_scale_words(const uint8_t (&pairs)[8], uint8_t* scales) noexcept {
  for (int w = 0; w < 4; ++w) {
    const int even = pairs[2 * w], odd = pairs[2 * w + 1];
    scales[w] = static_cast<uint8_t>((even & 15) | (odd & 15) << 4);
    scales[4 + w] = static_cast<uint8_t>(even >> 4 | (odd >> 4) << 4);
  }
}

inline void extract(const BlockIQ1_S& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  for (int s = 0; s < 8; ++s) {
    const int word = block.qh[s];
    if (s % 2 == 0) plain.scales[s / 2] = 0;
    plain.scales[s / 2] |= static_cast<uint8_t>(word >> 12 << (s % 2 * 4));
    for (int g = 0; g < 4; ++g) {
      put_eight(level_bytes(kIq1Grid[block.qs[4 * s + g] | (word >> (3 * g) & 7) << 8]),
                plain.q + 32 * s + 8 * g);
    }
  }
}
inline void extract(const BlockIQ1_M& block, BlockValues& plain) noexcept {
  plain.d = 0;
  uint8_t pairs[8];
  for (int w = 0; w < 4; ++w) {
    const int word = iq1_m_word(block, w);
    plain.d |= static_cast<uint16_t>(word >> 12 << (4 * w));
    pairs[2 * w] = static_cast<uint8_t>((word & 7) | (word >> 3 & 7) << 4);
    pairs[2 * w + 1] = static_cast<uint8_t>((word >> 6 & 7) | (word >> 9 & 7) << 4);
    plain.mins[w] = 0;
  }
  put_scale_words(pairs, plain.scales);
  for (int g = 0; g < 32; ++g) {
    const int nibble = block.qh[g / 2] >> (g % 2 * 4) & 15;
    plain.mins[g / 8] |= static_cast<uint8_t>((nibble >> 3 ^ 1) << (g % 8));
    put_eight(level_bytes(kIq1Grid[block.qs[g] | (nibble & 7) << 8]), plain.q + 8 * g);
  }
}
/// Levels of a point of eight values with the signs in bit 2.
inline void put_signed_levels(uint16_t point, uint8_t signs, uint8_t* q) noexcept {
  put_eight(level_bytes(point) | bit_bytes(signs) << 2, q);
}
inline void extract(const BlockIQ2_XXS& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  for (int s = 0; s < 8; ++s) {
    const uint16_t* words = block.qs + 4 * s;
    const uint32_t tail = words[2] | static_cast<uint32_t>(words[3]) << 16;
    if (s % 2 == 0) plain.scales[s / 2] = 0;
    plain.scales[s / 2] |= static_cast<uint8_t>(tail >> 28 << (s % 2 * 4));
    for (int g = 0; g < 4; ++g) {
      put_signed_levels(kIq2XxsGrid[words[g / 2] >> (8 * (g % 2)) & 255],
                        expand_signs(tail >> (7 * g)), plain.q + 32 * s + 8 * g);
    }
  }
}
inline void extract(const BlockIQ2_XS& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  put_scale_words(block.scales, plain.scales);
  for (int g = 0; g < 32; ++g) {
    put_signed_levels(kIq2XsGrid[block.qs[g] & 511], expand_signs(block.qs[g] >> 9),
                      plain.q + 8 * g);
  }
}
inline void extract(const BlockIQ2_S& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  put_scale_words(block.scales, plain.scales);
  for (int g = 0; g < 32; ++g) {
    const int high = block.qh[g / 4] >> (2 * (g % 4)) & 3;
    put_signed_levels(kIq2SGrid[block.qs[g] | high << 8], block.signs[g], plain.q + 8 * g);
  }
}
/// Levels of two points of four values with the signs in bit 3.
inline void put_signed_levels(uint16_t first, uint16_t second, uint8_t signs, uint8_t* q) noexcept {
  put_eight(four_level_bytes(first) | four_level_bytes(second) << 32 | bit_bytes(signs) << 3, q);
}
inline void extract(const BlockIQ3_XXS& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  for (int s = 0; s < 8; ++s) {
    uint32_t tail = 0;
    std::memcpy(&tail, block.tails + 4 * s, sizeof(tail));
    if (s % 2 == 0) plain.scales[s / 2] = 0;
    plain.scales[s / 2] |= static_cast<uint8_t>(tail >> 28 << (s % 2 * 4));
    for (int k = 0; k < 4; ++k) {
      const uint8_t* points = block.qs + 8 * s + 2 * k;
      put_signed_levels(kIq3XxsGrid[points[0]], kIq3XxsGrid[points[1]],
                        expand_signs(tail >> (7 * k)), plain.q + 32 * s + 8 * k);
    }
  }
}
inline void extract(const BlockIQ3_S& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  std::memcpy(plain.scales, block.scales, sizeof(block.scales));
  for (int k = 0; k < 32; ++k) {
    const uint32_t high = block.qh[k / 4] >> (k % 4 * 2) & 3u;
    put_signed_levels(kIq3SGrid[block.qs[2 * k] | (high & 1) << 8],
                      kIq3SGrid[block.qs[2 * k + 1] | (high >> 1) << 8], block.signs[k],
                      plain.q + 8 * k);
  }
}
inline void extract(const BlockIQ4_NL& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  nibbles_of_32(block.qs, plain.q);
}
inline void extract(const BlockIQ4_XS& block, BlockValues& plain) noexcept {
  plain.d = block.d;
  for (int s = 0; s < 8; ++s) {
    const int low = block.scales_l[s / 2] >> (s % 2 * 4) & 15;
    const int high = block.scales_h >> (2 * s) & 3;
    plain.scales[s] = static_cast<uint8_t>((low | high << 4) - 32);
    nibbles_of_32(block.qs + 16 * s, plain.q + 32 * s);
  }
}
inline void extract(const BlockMXFP4& block, BlockValues& plain) noexcept {
  plain.scales[0] = block.e;
  nibbles_of_32(block.qs, plain.q);
}
inline void extract(const BlockNVFP4& block, BlockValues& plain) noexcept {
  for (int s = 0; s < 4; ++s) {
    // One code means 0; kernels read all seven bits as a number.
    plain.scales[s] = block.d[s] == 0x7f ? uint8_t{0} : block.d[s] & 0x7f;
    for (int j = 0; j < 8; ++j) {
      plain.q[16 * s + j] = block.qs[8 * s + j] & 15;
      plain.q[16 * s + j + 8] = block.qs[8 * s + j] >> 4;
    }
  }
}

/// value = (q - bias) * d: q4_0, q5_0.
template <int kBias>
void values_half(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 32; ++k) out[k] = static_cast<float>(plain.q[k] - kBias) * d;
}
/// value = q * d + m: q4_1, q5_1.
inline void values_half_min(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  const float m = f16_to_f32(plain.min);
  for (int k = 0; k < 32; ++k) out[k] = static_cast<float>(plain.q[k]) * d + m;
}
/// value = q * d with a signed byte q: q8_0.
inline void values_signed(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 32; ++k) out[k] = static_cast<float>(static_cast<int8_t>(plain.q[k])) * d;
}
/// value = d * scale * q - dmin * minimum: q4_K, q5_K.
inline void values_super(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  const float dmin = f16_to_f32(plain.min);
  for (int k = 0; k < 256; ++k) {
    const int s = k / 32;
    const float scale = d * static_cast<float>(plain.scales[s]);
    out[k] = scale * static_cast<float>(plain.q[k]) - dmin * static_cast<float>(plain.mins[s]);
  }
}
/// value = d * scale * (q - 32): q6_K.
inline void values_super6(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 256; ++k) {
    const float scale = d * static_cast<float>(static_cast<int8_t>(plain.scales[k / 16]));
    out[k] = scale * static_cast<float>(plain.q[k] - 32);
  }
}

/// value = (q - 1) * d: q2_0, tq1_0, tq2_0.
template <int kCount>
void values_from_minus_1(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < kCount; ++k) out[k] = static_cast<float>(plain.q[k] - 1) * d;
}
/// value = d or -d: q1_0.
inline void values_sign(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 128; ++k) out[k] = plain.q[k] != 0 ? d : -d;
}
/// value = d * scale * q - dmin * minimum: q2_K.
inline void values_super2(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  const float dmin = f16_to_f32(plain.min);
  for (int k = 0; k < 256; ++k) {
    const float scale = d * static_cast<float>(plain.scales[k / 16] & 15);
    const float minimum = dmin * static_cast<float>(plain.scales[k / 16] >> 4);
    out[k] = scale * static_cast<float>(plain.q[k]) - minimum;
  }
}
/// value = d * scale * (q - 4): q3_K.
inline void values_super3(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 256; ++k) {
    const float scale = d * static_cast<float>(static_cast<int8_t>(plain.scales[k / 16]));
    out[k] = scale * static_cast<float>(plain.q[k] - 4);
  }
}
inline int nibble_of(const uint8_t* bytes, int index) noexcept {
  return bytes[index / 2] >> (index % 2 * 4) & 15;
}
/// Scale nibble for value k and the rest of its group of kGroup values.
template <int kGroup>
int scale_nibble(const uint8_t* scales, int k) noexcept {
  constexpr int kScales = 32 / kGroup;
  return nibble_of(scales + 4 * (k / kGroup % kScales), k / 32);
}
/// value = d * (2 * scale + 1) * (q - 1 + offset): iq1_s, iq1_m.
inline void values_iq1_s(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 256; ++k) {
    const int code = scale_nibble<32>(plain.scales, k);
    const float scale = d * static_cast<float>(2 * (code & 7) + 1);
    const float offset = (code & 8) != 0 ? -kIq1Offset : kIq1Offset;
    out[k] = scale * (static_cast<float>(plain.q[k] - 1) + offset);
  }
}
inline void values_iq1_m(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 256; ++k) {
    const float scale = d * static_cast<float>(2 * scale_nibble<16>(plain.scales, k) + 1);
    const bool added = (plain.mins[k / 64] >> (k / 8 % 8) & 1) != 0;
    out[k] = scale * (static_cast<float>(plain.q[k] - 1) + (added ? kIq1Offset : -kIq1Offset));
  }
}
/// scale * level with the sign in bit kSignBit.
template <int kSignBit>
float signed_level(const int8_t* levels, uint8_t code, float scale) noexcept {
  const float value = scale * static_cast<float>(levels[code & ((1 << kSignBit) - 1)]);
  return with_sign(value, code, kSignBit);
}
template <int kGroup>
void values_iq2_of(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 256; ++k) {
    const int nibble = scale_nibble<kGroup>(plain.scales, k);
    const float scale = d * (0.5f + static_cast<float>(nibble)) * 0.25f;
    out[k] = signed_level<2>(kIq2SLevels, plain.q[k], scale);
  }
}
inline void values_iq2_xxs(const BlockValues& plain, float* out) noexcept {
  values_iq2_of<32>(plain, out);
}
inline void values_iq2(const BlockValues& plain, float* out) noexcept {
  values_iq2_of<16>(plain, out);
}
inline void values_iq3_xxs(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 256; ++k) {
    const int nibble = scale_nibble<32>(plain.scales, k);
    const float scale = d * (0.5f + static_cast<float>(nibble)) * 0.5f;
    out[k] = signed_level<3>(kIq3XxsLevels, plain.q[k], scale);
  }
}
inline void values_iq3_s(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 256; ++k) {
    const int nibble = scale_nibble<32>(plain.scales, k);
    const float scale = d * static_cast<float>(1 + 2 * nibble);
    out[k] = signed_level<3>(kIq3SLevels, plain.q[k], scale);
  }
}
inline void values_iq4_nl(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 32; ++k) out[k] = d * static_cast<float>(kIq4Values[plain.q[k]]);
}
inline void values_iq4_xs(const BlockValues& plain, float* out) noexcept {
  const float d = f16_to_f32(plain.d);
  for (int k = 0; k < 256; ++k) {
    const float scale = d * static_cast<float>(static_cast<int8_t>(plain.scales[k / 32]));
    out[k] = scale * static_cast<float>(kIq4Values[plain.q[k]]);
  }
}
inline void values_mxfp4(const BlockValues& plain, float* out) noexcept {
  const float d = e8m0_half_to_f32(plain.scales[0]);
  for (int k = 0; k < 32; ++k) out[k] = static_cast<float>(kFp4Doubled[plain.q[k]]) * d;
}
inline void values_nvfp4(const BlockValues& plain, float* out) noexcept {
  for (int k = 0; k < 64; ++k) {
    // With the top bit set, no code decodes to NaN or 0x7f.
    const float d = ue4m3_to_f32(plain.scales[k / 16] | 0x80) * 0.5f;
    out[k] = static_cast<float>(kFp4Doubled[plain.q[k]]) * d;
  }
}

}  // namespace
}  // namespace tenon::cpu
