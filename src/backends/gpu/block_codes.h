// Splits blocks of 256 values of a file into codes and scales, and joins them again, for formats
// with numeric codes. Codebook formats keep their blocks (weight_rows.h).
#pragma once

#include <cstdint>

#include "quant/formats.h"

namespace tenon::gpu {

/// Bits of a code as planes (packed_unit.h), low bits first. 0 and 0: the format has no codes.
struct CodeBits {
  uint32_t low;
  uint32_t high;
  [[nodiscard]] constexpr uint32_t total() const noexcept { return low + high; }
};

constexpr CodeBits code_bits(Format format) noexcept {
  switch (format) {
    case Format::F16:
      return {16, 0};
    case Format::Q8_0:
      return {8, 0};
    case Format::Q4_0:
    case Format::Q4_1:
    case Format::Q4_K:
    case Format::IQ4_NL:
    case Format::IQ4_XS:
    case Format::MXFP4:
    case Format::NVFP4:
      return {4, 0};
    case Format::Q5_0:
    case Format::Q5_1:
    case Format::Q5_K:
      return {4, 1};
    case Format::Q6_K:
      return {4, 2};
    case Format::Q3_K:
      return {2, 1};
    case Format::Q2_K:
    case Format::Q2_0:
    case Format::TQ2_0:
      return {2, 0};
    case Format::Q1_0:
      return {1, 0};
    default:
      return {0, 0};
  }
}

/// A bit of a block: bit `bit` of byte `byte`.
struct BitPlace {
  uint32_t byte;
  uint32_t bit;
};

/// Position of bit `b` of value `v`'s code in a block, as defined by the format's header in
/// src/quant.
constexpr BitPlace code_bit(Format format, uint32_t v, uint32_t b) noexcept {
  const uint32_t nibble = v % 32 / 16 * 4;  // in blocks of 32: the first half is in the low nibbles
  switch (format) {
    case Format::F16:
      return {b / 8, b % 8};
    case Format::Q8_0:
      return {2 + v, b};
    case Format::Q4_0:
    case Format::IQ4_NL:
      return {2 + v % 16, nibble + b};
    case Format::Q4_1:
      return {4 + v % 16, nibble + b};
    case Format::MXFP4:
      return {1 + v % 16, nibble + b};
    case Format::NVFP4:
      return {4 + v / 16 * 8 + v % 8, v % 16 / 8 * 4 + b};
    case Format::Q5_0:
      return b == 4 ? BitPlace{2 + v / 8, v % 8} : BitPlace{6 + v % 16, nibble + b};
    case Format::Q5_1:
      return b == 4 ? BitPlace{4 + v / 8, v % 8} : BitPlace{8 + v % 16, nibble + b};
    case Format::IQ4_XS:
      return {8 + v / 32 * 16 + v % 16, nibble + b};
    case Format::Q4_K:
      return {16 + v / 64 * 32 + v % 32, v / 32 % 2 * 4 + b};
    case Format::Q5_K:
      return b == 4 ? BitPlace{16 + v % 32, v / 32}
                    : BitPlace{48 + v / 64 * 32 + v % 32, v / 32 % 2 * 4 + b};
    case Format::Q6_K: {
      const uint32_t k = v % 128 / 32;
      return b >= 4 ? BitPlace{128 + v / 128 * 32 + v % 32, 2 * k + b - 4}
                    : BitPlace{v / 128 * 64 + k % 2 * 32 + v % 32, k / 2 * 4 + b};
    }
    case Format::Q3_K:
      return b == 2 ? BitPlace{v % 32, v / 32}
                    : BitPlace{32 + v / 128 * 32 + v % 32, v % 128 / 32 * 2 + b};
    case Format::Q2_K:
      return {16 + v / 128 * 32 + v % 32, v % 128 / 32 * 2 + b};
    case Format::TQ2_0:
      return {v / 128 * 32 + v % 32, v % 128 / 32 * 2 + b};
    case Format::Q2_0:
      return {2 + v / 4, v % 4 * 2 + b};
    default:  // Q1_0
      return {2 + v / 8, v % 8};
  }
}

/// Extracts the codes [block_values] of a block; leaves its scales, and zeros, in `block`.
inline void take_codes(const FormatInfo& format, std::byte* block, uint32_t* codes) noexcept {
  const uint32_t bits = code_bits(format.id).total();
  for (uint32_t v = 0; v < format.block_values; ++v) {
    codes[v] = 0;
    for (uint32_t b = 0; b < bits; ++b) {
      const BitPlace place = code_bit(format.id, v, b);
      const auto bit = std::byte{1} << place.bit;
      if ((block[place.byte] & bit) == std::byte{0}) continue;
      codes[v] |= 1u << b;
      block[place.byte] ^= bit;
    }
  }
}

/// Inverse of take_codes().
inline void put_codes(const FormatInfo& format, const uint32_t* codes, std::byte* block) noexcept {
  const uint32_t bits = code_bits(format.id).total();
  for (uint32_t v = 0; v < format.block_values; ++v) {
    for (uint32_t b = 0; b < bits; ++b) {
      const BitPlace place = code_bit(format.id, v, b);
      if ((codes[v] >> b & 1) != 0) block[place.byte] |= std::byte{1} << place.bit;
    }
  }
}

}  // namespace tenon::gpu
