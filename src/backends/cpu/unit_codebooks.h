// How kernels read units of the codebook formats (kernel_integer.h says what a unit type offers,
// panel_codebooks.h how the bytes lie). Included by kernels_<isa>.cpp after vec.h.
//
// A point is looked up for 16 rows at once; its levels and the signs make codes of four bits, and
// a table of 16 turns them into bytes.
#pragma once

#include "backends/cpu/codebook_tables.h"
#include "backends/cpu/unit_integers.h"

namespace tenon::cpu::TENON_CPU_ISA {

// ---- Signs and indices -------------------------------------------------------------------------

/// The signs of 32 values as a plane of bits: value 4g + j of a row is bit sign_bit(g) of byte j.
constexpr int sign_bit(int g) { return g % 2 * 4 + g / 2; }

/// Signs of which every eighth is left out: it makes the number of negative values in its eight
/// even. `tail` has four bits of something else in its place.
inline U8x64 even_signs(I32x16 tail) {
  const I32x16 signs = bit_and(tail, broadcast_i32(0x0FFFFFFF));
  I32x16 odd = bit_xor(signs, shift_left(signs, 16));
  odd = bit_xor(odd, shift_left(odd, 8));
  odd = bit_xor(odd, shift_left(odd, 4));
  return as_u8(bit_or(signs, bit_and(odd, broadcast_i32(static_cast<int32_t>(0xF0000000u)))));
}

/// Puts the sign of group kG into bit kTo of the codes.
template <int kG, int kTo>
inline U8x64 with_signs(U8x64 codes, U8x64 plane) {
  constexpr int kBit = sign_bit(kG);
  return or_bits<(kBit > kTo ? kBit - kTo : 0), (kBit < kTo ? kTo - kBit : 0), 1 << kTo>(codes,
                                                                                         plane);
}

/// Byte kByte of each lane.
template <int kByte>
inline I32x16 byte_of(I32x16 lanes) {
  if constexpr (kByte == 3) return shift_right(lanes, 24);
  return bit_and(shift_right(lanes, 8 * kByte), broadcast_i32(255));
}
/// Bits kFrom and up of each lane (as many as kMask has), moved to where kMask has them.
template <int kFrom, int kMask>
inline I32x16 bits_to(I32x16 lanes) {
  constexpr int kTo = __builtin_ctz(kMask);
  const I32x16 moved =
      kFrom > kTo ? shift_right(lanes, kFrom - kTo) : shift_left(lanes, kTo - kFrom);
  return bit_and(moved, broadcast_i32(kMask));
}

inline I32x16 load_lanes(const uint8_t* p) { return as_i32(load_u8(p)); }

/// 2 * code + 1 as f32.
inline F32x16 odd_scale(I32x16 code) { return to_f32(add(add(code, code), broadcast_i32(1))); }
/// Nibble `index` of a byte per row.
inline I32x16 nibble(const uint8_t* bytes, uint32_t index) {
  return bit_and(shift_right(load_u8_as_i32(bytes), static_cast<int>(4 * index)),
                 broadcast_i32(15));
}

/// Code level | sign << kSignBit as a byte.
template <size_t kLevels>
constexpr Bytes16 signed_levels(const int8_t (&levels)[kLevels], int sign_bit, int bias) {
  Bytes16 table{};
  for (int code = 0; code < 16; ++code) {
    const int level = code & ((1 << sign_bit) - 1);
    if (level >= static_cast<int>(kLevels) || code >> (sign_bit + 1) != 0) continue;
    const int value = code >> sign_bit != 0 ? -levels[level] : levels[level];
    table.v[code] = static_cast<uint8_t>(value + bias);
  }
  return table;
}

/// Both halves of a point of eight levels with its signs.
template <int kG, const Bytes16& kTable, typename Use>
inline void use_eight(U8x64 points, U8x64 plane, Use use) {
  use(std::integral_constant<int, 2 * kG>(),
      lookup(with_signs<2 * kG, 2>(low_nibbles(points), plane), kTable));
  use(std::integral_constant<int, 2 * kG + 1>(),
      lookup(with_signs<2 * kG + 1, 2>(high_nibbles(points), plane), kTable));
}

/// What all units of 256 values with an f16 d have: d * kStep is the scale of scale code 0.
template <int kByteBias>
struct CodebookUnit {
  static constexpr int kBias = kByteBias;
  static constexpr bool kHasOffset = false;
  static constexpr bool kCheap = false;
  static constexpr uint32_t kBlocks = 8;
  const uint8_t* bytes;
  F32x16 d;
  CodebookUnit(const uint8_t* unit, float step)
      : bytes(unit), d(mul(half_vector(unit, 0), broadcast(step))) {}
};

// ---- iq2 ---------------------------------------------------------------------------------------

inline constexpr int kIq2Bias = 43;
static_assert(kIq2XxsLevels[2] == kIq2Bias && kIq2XsLevels[2] == kIq2Bias &&
              kIq2SLevels[2] == kIq2Bias);
inline constexpr Bytes16 kIq2Table = signed_levels(kIq2SLevels, 2, kIq2Bias);
static_assert(kIq2XxsLevels[0] == kIq2SLevels[0] && kIq2XxsLevels[1] == kIq2SLevels[1] &&
              kIq2XsLevels[0] == kIq2SLevels[0] && kIq2XsLevels[1] == kIq2SLevels[1]);

struct Iq2XxsUnit : CodebookUnit<kIq2Bias> {
  using Weights = Unsigned<2 * kIq2Bias>;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kHead = 2 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * 128;
  explicit Iq2XxsUnit(const uint8_t* unit) : CodebookUnit(unit, 0.125f) {}
  [[nodiscard]] F32x16 scale(uint32_t b) const {
    return mul(d, odd_scale(shift_right(load_lanes(bytes + kHead + 128 * b + 64), 28)));
  }
  template <typename Use>
  void each(uint32_t b, Use use) const {
    const I32x16 index = load_lanes(bytes + kHead + 128 * b);
    const U8x64 plane = even_signs(load_lanes(bytes + kHead + 128 * b + 64));
    each_index<4>([&](auto g) {
      use_eight<g, kIq2Table>(gather(kIq2XxsPoints.entry, byte_of<g>(index)), plane, use);
    });
  }
};

struct Iq2XsUnit : CodebookUnit<kIq2Bias> {
  using Weights = Unsigned<2 * kIq2Bias>;
  static constexpr uint32_t kGroup = 16;
  static constexpr uint64_t kHead = 10 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * 128;
  explicit Iq2XsUnit(const uint8_t* unit) : CodebookUnit(unit, 0.125f) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const {
    return mul(d, odd_scale(nibble(bytes + (2 + group / 2) * kRows, group % 2)));
  }
  template <typename Use>
  void each(uint32_t b, Use use) const {
    const I32x16 low = load_lanes(bytes + kHead + 128 * b);
    const I32x16 tail = load_lanes(bytes + kHead + 128 * b + 64);
    const U8x64 plane = even_signs(tail);
    each_index<4>([&](auto g) {
      const I32x16 index = bit_or(byte_of<g>(low), bits_to<28 + g, 0x100>(tail));
      use_eight<g, kIq2Table>(gather(kIq2XsPoints.entry, index), plane, use);
    });
  }
};

struct Iq2SUnit : CodebookUnit<kIq2Bias> {
  using Weights = Unsigned<2 * kIq2Bias>;
  static constexpr uint32_t kGroup = 16;
  static constexpr uint64_t kHead = 18 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * 128;
  explicit Iq2SUnit(const uint8_t* unit) : CodebookUnit(unit, 0.125f) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const {
    return mul(d, odd_scale(nibble(bytes + (2 + group / 2) * kRows, group % 2)));
  }
  template <typename Use>
  void each(uint32_t b, Use use) const {
    const I32x16 low = load_lanes(bytes + kHead + 128 * b);
    const I32x16 high = load_u8_as_i32(bytes + (10 + b) * kRows);
    const U8x64 plane = load_u8(bytes + kHead + 128 * b + 64);
    each_index<4>([&](auto g) {
      const I32x16 index = bit_or(byte_of<g>(low), bits_to<2 * g, 0x300>(high));
      use_eight<g, kIq2Table>(gather(kIq2SPoints.entry, index), plane, use);
    });
  }
};

// ---- iq3 ---------------------------------------------------------------------------------------

inline constexpr int kIq3XxsBias = 62;
inline constexpr Bytes16 kIq3XxsTable = signed_levels(kIq3XxsLevels, 3, kIq3XxsBias);
inline constexpr int kIq3SBias = 15;
inline constexpr Bytes16 kIq3STable = signed_levels(kIq3SLevels, 3, kIq3SBias);
static_assert(kIq3XxsLevels[7] == kIq3XxsBias && kIq3SLevels[7] == kIq3SBias);

struct Iq3XxsUnit : CodebookUnit<kIq3XxsBias> {
  using Weights = Unsigned<2 * kIq3XxsBias>;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kHead = 2 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * 192;
  explicit Iq3XxsUnit(const uint8_t* unit) : CodebookUnit(unit, 0.25f) {}
  [[nodiscard]] F32x16 scale(uint32_t b) const {
    return mul(d, odd_scale(shift_right(load_lanes(bytes + kHead + 192 * b + 128), 28)));
  }
  template <typename Use>
  void each(uint32_t b, Use use) const {
    const uint8_t* block = bytes + kHead + 192 * b;
    const U8x64 plane = even_signs(load_lanes(block + 128));
    each_index<8>([&](auto g) {
      const I32x16 index = byte_of<g % 4>(load_lanes(block + 64 * (g / 4)));
      use(g, lookup(with_signs<g, 3>(gather(kIq3XxsPoints.entry, index), plane), kIq3XxsTable));
    });
  }
};

struct Iq3SUnit : CodebookUnit<kIq3SBias> {
  using Weights = Unsigned<2 * kIq3SBias>;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kHead = 14 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * 192;
  explicit Iq3SUnit(const uint8_t* unit) : CodebookUnit(unit, 1.0f) {}
  [[nodiscard]] F32x16 scale(uint32_t b) const {
    return mul(d, odd_scale(nibble(bytes + (2 + b / 2) * kRows, b % 2)));
  }
  template <typename Use>
  void each(uint32_t b, Use use) const {
    const uint8_t* block = bytes + kHead + 192 * b;
    const I32x16 high = load_u8_as_i32(bytes + (6 + b) * kRows);
    const U8x64 plane = load_u8(block + 128);
    each_index<8>([&](auto g) {
      const I32x16 low = byte_of<g % 4>(load_lanes(block + 64 * (g / 4)));
      const I32x16 index = bit_or(low, bits_to<g, 0x100>(high));
      use(g, lookup(with_signs<g, 3>(gather(kIq3SPoints.entry, index), plane), kIq3STable));
    });
  }
};

// ---- iq1: levels 0..2 stand for -1, 0, 1, to which an eighth is added or taken away ------------

struct Iq1SUnit {
  using Weights = Unsigned<2>;
  static constexpr int kBias = 0;
  static constexpr bool kHasOffset = true;
  static constexpr bool kCheap = false;
  static constexpr uint32_t kBlocks = 8;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kHead = 18 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * 64;
  const uint8_t* bytes;
  F32x16 d;
  explicit Iq1SUnit(const uint8_t* unit) : bytes(unit), d(half_vector(unit, 0)) {}
  [[nodiscard]] I32x16 word(uint32_t b) const {
    return load_u16_as_i32(bytes + (2 + 2 * b) * kRows);
  }
  [[nodiscard]] F32x16 scale(uint32_t b) const {
    return mul(d, odd_scale(bits_to<12, 7>(word(b))));
  }
  /// The byte is one more than the level; the top bit says whether the eighth is taken away.
  [[nodiscard]] F32x16 offset(uint32_t b, F32x16 scale) const {
    const F32x16 negative = to_f32(shift_right(word(b), 15));
    return mul(scale, fma(negative, broadcast(-0.25f), broadcast(-0.875f)));
  }
  template <typename Use>
  void each(uint32_t b, Use use) const {
    const I32x16 low = load_lanes(bytes + kHead + 64 * b);
    const I32x16 high = word(b);
    each_index<4>([&](auto g) {
      const I32x16 index = bit_or(byte_of<g>(low), bits_to<3 * g, 0x700>(high));
      const U8x64 points = gather(kIq1Points.entry, index);
      use(std::integral_constant<int, 2 * g>(), low_nibbles(points));
      use(std::integral_constant<int, 2 * g + 1>(), high_nibbles(points));
    });
  }
};

/// Eight times the weight as bytes: level | negative << 2 -> 8 level + 2 (8 level for a negative
/// eighth).
inline constexpr int kIq1MBias = 9;
inline constexpr Bytes16 kIq1MTable = {{2, 10, 18, 0, 0, 8, 16}};

struct Iq1MUnit {
  using Weights = Unsigned<2 * kIq1MBias>;
  static constexpr int kBias = kIq1MBias;
  static constexpr bool kHasOffset = false;
  static constexpr bool kCheap = false;
  static constexpr uint32_t kBlocks = 8;
  static constexpr uint32_t kGroup = 16;
  static constexpr uint64_t kHead = 24 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * 64;
  const uint8_t* bytes;
  F32x16 d;
  explicit Iq1MUnit(const uint8_t* unit) : bytes(unit), d(load_d(unit)) {}
  /// The f16 scale is in the top nibbles of four words, the lowest first; an eighth of it.
  static F32x16 load_d(const uint8_t* unit) {
    uint16_t d[kRows];
    for (uint32_t r = 0; r < kRows; ++r) {
      d[r] = 0;
      for (uint32_t w = 0; w < 4; ++w) {
        d[r] = static_cast<uint16_t>(d[r] | unit[(w * kRows + r) * 2 + 1] >> 4 << (4 * w));
      }
    }
    return mul(load_f16(d), broadcast(0.125f));
  }
  [[nodiscard]] F32x16 scale(uint32_t group) const {
    const I32x16 word = load_u16_as_i32(bytes + group / 4 * 2 * kRows);
    const I32x16 code =
        bit_and(shift_right(word, static_cast<int>(3 * (group % 4))), broadcast_i32(7));
    return mul(d, odd_scale(code));
  }
  template <typename Use>
  void each(uint32_t b, Use use) const {
    const I32x16 low = load_lanes(bytes + kHead + 64 * b);
    const I32x16 high = load_u16_as_i32(bytes + (8 + 2 * b) * kRows);
    each_index<4>([&](auto g) {
      const I32x16 index = bit_or(byte_of<g>(low), bits_to<4 * g, 0x700>(high));
      // The sign of the eighth to bits 2 and 6 of all four bytes: 0 - 1 has all bits set.
      const I32x16 bit = bits_to<4 * g + 3, 1>(high);
      const I32x16 negative = bit_and(add(bit_xor(bit, broadcast_i32(1)), broadcast_i32(-1)),
                                      broadcast_i32(0x44444444));
      const U8x64 points = as_u8(bit_or(as_i32(gather(kIq1Points.entry, index)), negative));
      use(std::integral_constant<int, 2 * g>(), lookup(low_nibbles(points), kIq1MTable));
      use(std::integral_constant<int, 2 * g + 1>(), lookup(high_nibbles(points), kIq1MTable));
    });
  }
};

}  // namespace tenon::cpu::TENON_CPU_ISA
