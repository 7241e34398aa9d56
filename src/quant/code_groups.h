// Weights of other programs as they lie in memory: groups of codes with a scale each. No file has
// these blocks; readers of folders write them (weights/foreign).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "quant/fit.h"

namespace tenon {

/// Codes of kBits bits (4: two in a byte, the even value in the low nibble; 8: a byte each), and a
/// head of one word. Its upper 24 bits are the upper bits of an f32 scale, which hold every f16 and
/// bf16; the low 8 bits are a zero point.
///   value = (q - zero) * scale
template <uint32_t kBits, uint32_t kCount>
struct BlockCodes {
  static constexpr uint32_t kValues = kCount;
  static constexpr uint32_t kCodeBits = kBits;
  static constexpr uint32_t kHeads = 1;
  uint8_t heads[4];  ///< u32, little-endian; bytes keep the block without padding
  uint8_t qs[kCount * kBits / 8];
};

/// As BlockCodes, with a head of two words. The low 8 bits of the first are 0 or 1; the second is
/// an f32.
///   0: value = q * scale + second
///   1: value = (q - second) * scale
template <uint32_t kBits, uint32_t kCount>
struct BlockCodePairs {
  static constexpr uint32_t kValues = kCount;
  static constexpr uint32_t kCodeBits = kBits;
  static constexpr uint32_t kHeads = 2;
  uint8_t heads[8];
  uint8_t qs[kCount * kBits / 8];
};

/// f32 scale and codes of the 8-bit float e4m3.
///   value = e4m3(q) * scale
template <uint32_t kCount>
struct BlockFloat8 {
  static constexpr uint32_t kValues = kCount;
  uint8_t scale[4];
  uint8_t qs[kCount];
};

using BlockU4G32 = BlockCodes<4, 32>;
using BlockU4G64 = BlockCodes<4, 64>;
using BlockU4G128 = BlockCodes<4, 128>;
using BlockU8G32 = BlockCodes<8, 32>;
using BlockU4P32 = BlockCodePairs<4, 32>;
using BlockU4P64 = BlockCodePairs<4, 64>;
using BlockU8P32 = BlockCodePairs<8, 32>;
using BlockF8G32 = BlockFloat8<32>;
using BlockF8G128 = BlockFloat8<128>;
static_assert(sizeof(BlockU4G128) == 68 && sizeof(BlockU4P64) == 40 && sizeof(BlockU8G32) == 36 &&
              sizeof(BlockF8G128) == 132);

/// Head word of a scale whose low 8 bits of f32 are 0, and a small number.
constexpr uint32_t code_head(float scale, uint8_t low) noexcept {
  return (std::bit_cast<uint32_t>(scale) & ~uint32_t{255}) | low;
}
constexpr float head_scale(uint32_t head) noexcept {
  return std::bit_cast<float>(head & ~uint32_t{255});
}
constexpr float head_low(uint32_t head) noexcept { return static_cast<float>(head & 255); }

inline namespace TENON_QUANT_ISA {

inline uint32_t word_at(const uint8_t* bytes) noexcept {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}
inline void put_word(uint8_t* bytes, uint32_t word) noexcept {
  std::memcpy(bytes, &word, sizeof(word));
}

template <typename Block>
uint8_t code_of(const Block& block, uint32_t k) noexcept {
  if constexpr (Block::kCodeBits == 8) {
    return block.qs[k];
  } else {
    return static_cast<uint8_t>(block.qs[k / 2] >> (k % 2 * 4) & 15);
  }
}

/// codes [kValues], each below 2^kCodeBits.
template <typename Block>
void put_codes(const uint8_t* codes, Block& block) noexcept {
  for (uint32_t i = 0; i < sizeof(block.qs); ++i) {
    if constexpr (Block::kCodeBits == 8) {
      block.qs[i] = codes[i];
    } else {
      block.qs[i] = static_cast<uint8_t>(codes[2 * i] | codes[2 * i + 1] << 4);
    }
  }
}

template <uint32_t kBits, uint32_t kCount>
void decode(const BlockCodes<kBits, kCount>& block, float* out) noexcept {
  const uint32_t head = word_at(block.heads);
  const float scale = head_scale(head);
  const auto zero = static_cast<int>(head & 255);
  for (uint32_t k = 0; k < kCount; ++k) {
    out[k] = static_cast<float>(code_of(block, k) - zero) * scale;
  }
}

template <uint32_t kBits, uint32_t kCount>
void decode(const BlockCodePairs<kBits, kCount>& block, float* out) noexcept {
  const uint32_t head = word_at(block.heads);
  const float scale = head_scale(head);
  const float second = std::bit_cast<float>(word_at(block.heads + 4));
  const bool is_zero = (head & 255) != 0;
  for (uint32_t k = 0; k < kCount; ++k) {
    const auto q = static_cast<float>(code_of(block, k));
    out[k] = is_zero ? (q - second) * scale : q * scale + second;
  }
}

/// Exact: the code's bits are those of an f32 with a smaller exponent.
inline float e4m3_to_f32(uint8_t code) noexcept {
  constexpr float kBiases = 0x1p120f;  // 127 - 7
  const uint32_t magnitude = code & 127u;
  const float value = std::bit_cast<float>(magnitude << 20) * kBiases;
  const float number = magnitude == 127 ? std::numeric_limits<float>::quiet_NaN() : value;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(number) | (code & 128u) << 24);
}

template <uint32_t kCount>
void decode(const BlockFloat8<kCount>& block, float* out) noexcept {
  const float scale = std::bit_cast<float>(word_at(block.scale));
  for (uint32_t k = 0; k < kCount; ++k) out[k] = e4m3_to_f32(block.qs[k]) * scale;
}

/// Encoders for tests and measurements: from the least value to the largest.
struct CodeRange {
  float least;
  float step;
};
template <uint32_t kBits, uint32_t kCount>
CodeRange code_range(const float* in) noexcept {
  float least = 0;
  float largest = 0;
  for (uint32_t k = 0; k < kCount; ++k) {
    least = in[k] < least ? in[k] : least;
    largest = in[k] > largest ? in[k] : largest;
  }
  constexpr float kLevels = kBits == 4 ? 15 : 255;
  constexpr float kMost = std::numeric_limits<float>::max() / kLevels;
  const float step = largest / kLevels - least / kLevels;
  return {least, head_scale(code_head(step < kMost ? step : kMost, 0))};
}

/// in [kCount] finite.
template <uint32_t kBits, uint32_t kCount>
void encode(const float* in, BlockCodes<kBits, kCount>& block) noexcept {
  const auto [least, step] = code_range<kBits, kCount>(in);
  const float inverse = inverse_step(step);
  constexpr int kTop = (1 << kBits) - 1;
  const int zero = level_of(-least, 0, inverse, 0, kTop);
  uint8_t codes[kCount];
  for (uint32_t k = 0; k < kCount; ++k) {
    codes[k] = static_cast<uint8_t>(level_of(in[k], 0, inverse, -zero, kTop - zero) + zero);
  }
  put_word(block.heads, code_head(step, static_cast<uint8_t>(zero)));
  put_codes(codes, block);
}

/// in [kCount] finite.
template <uint32_t kBits, uint32_t kCount>
void encode(const float* in, BlockCodePairs<kBits, kCount>& block) noexcept {
  const auto [least, step] = code_range<kBits, kCount>(in);
  uint8_t codes[kCount];
  for (uint32_t k = 0; k < kCount; ++k) {
    codes[k] =
        static_cast<uint8_t>(level_of(in[k], least, inverse_step(step), 0, (1 << kBits) - 1));
  }
  put_word(block.heads, code_head(step, 0));
  put_word(block.heads + 4, std::bit_cast<uint32_t>(least));
  put_codes(codes, block);
}

/// in [kCount] finite.
template <uint32_t kCount>
void encode(const float* in, BlockFloat8<kCount>& block) noexcept {
  const float peak = signed_peak(in, kCount);
  const float scale = (peak < 0 ? -peak : peak) / 448.0f;
  put_word(block.scale, std::bit_cast<uint32_t>(scale));
  for (uint32_t k = 0; k < kCount; ++k) {
    const float value = in[k] * inverse_step(scale);
    const float magnitude = value < 0 ? -value : value;
    // Codes of positive values ascend.
    uint8_t code = 0;
    for (uint8_t bit = 64; bit != 0; bit = static_cast<uint8_t>(bit / 2)) {
      const auto next = static_cast<uint8_t>(code | bit);
      if (next < 127 && e4m3_to_f32(next) <= magnitude) code = next;
    }
    if (code < 126 &&
        e4m3_to_f32(static_cast<uint8_t>(code + 1)) - magnitude < magnitude - e4m3_to_f32(code)) {
      ++code;
    }
    block.qs[k] = static_cast<uint8_t>(code | (value < 0 ? 128 : 0));
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
