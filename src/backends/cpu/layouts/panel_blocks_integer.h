// Readers of panel blocks whose weights are small integers or entries of a table of 16.
// kernel_integer.h defines their interface, panels.h the byte layout. Included by kernels_<isa>.cpp
// after vec.h.
#pragma once

#include "backends/cpu/kernels/kernel_integer.h"
#include "quant/fp4.h"
#include "quant/iq4_values.h"

namespace tenon::cpu::TENON_CPU_ISA {

// ---- Bytes of 32 values of k -------------------------------------------------------------------

constexpr Bytes16 table_of(const int8_t (&values)[16], int bias) {
  Bytes16 table{};
  for (int i = 0; i < 16; ++i) table.v[i] = static_cast<uint8_t>(values[i] + bias);
  return table;
}
inline constexpr Bytes16 kIq4Table = table_of(kIq4Values, kWideBias);
inline constexpr int kFp4Bias = 12;
inline constexpr Bytes16 kFp4Table = table_of(kFp4Doubled, kFp4Bias);

/// 4 vectors of nibbles, group 2i low and 2i + 1 high.
struct Plain4 {
  static constexpr uint64_t kBytes = 256;
  static constexpr bool kUnpacksFast = true;
  template <typename Use>
  [[gnu::always_inline]] static void each(const uint8_t* quants, Use use) {
    each_index<4>([&](auto i) TENON_INLINED {
      const U8x64 raw = load_u8(quants + 64 * i);
      use(std::integral_constant<int, 2 * i>(), low_nibbles(raw));
      use(std::integral_constant<int, 2 * i + 1>(), high_nibbles(raw));
    });
  }
};
/// Plain4 and a plane with bit g for group g.
struct Plain5 {
  static constexpr uint64_t kBytes = 320;
  template <typename Use>
  [[gnu::always_inline]] static void each(const uint8_t* quants, Use use) {
    const U8x64 plane = load_u8(quants + 256);
    Plain4::each(quants, [&](auto g, U8x64 low) TENON_INLINED {
      use(g, or_bits<(g > 4 ? g - 4 : 0), (g < 4 ? 4 - g : 0), 16>(low, plane));
    });
  }
};
/// Plain4 and two planes with two bits for each of four groups: the groups of a pair are two bits
/// apart.
struct Plain6 {
  static constexpr uint64_t kBytes = 384;
  template <typename Use>
  [[gnu::always_inline]] static void each(const uint8_t* quants, Use use) {
    Plain4::each(quants, [&](auto g, U8x64 low) TENON_INLINED {
      constexpr int kBit = g % 4 * 2;
      const U8x64 plane = load_u8(quants + 256 + 64 * (g / 4));
      use(g, or_bits<(kBit > 4 ? kBit - 4 : 0), (kBit < 4 ? 4 - kBit : 0), 0x30>(low, plane));
    });
  }
};
/// Signed bytes.
struct Signed8 {
  static constexpr uint64_t kBytes = 512;
  static constexpr bool kUnpacksFast = true;
  template <typename Use>
  [[gnu::always_inline]] static void each(const uint8_t* quants, Use use) {
    each_index<8>([&](auto g) TENON_INLINED { use(g, wide_bytes(load_u8(quants + 64 * g))); });
  }
};
/// 4-bit codes of a table.
template <const Bytes16& kTable>
struct Coded4 {
  static constexpr uint64_t kBytes = 256;
  template <typename Use>
  [[gnu::always_inline]] static void each(const uint8_t* quants, Use use) {
    each_index<4>([&](auto i) TENON_INLINED {
      const U8x64 raw = load_u8(quants + 64 * i);
      use(std::integral_constant<int, 2 * i>(), lookup(low_nibbles(raw), kTable));
      use(std::integral_constant<int, 2 * i + 1>(), lookup(high_nibbles(raw), kTable));
    });
  }
};
struct Plain2 {
  static constexpr uint64_t kBytes = 128;
  static constexpr bool kUnpacksFast = true;
  template <typename Use>
  [[gnu::always_inline]] static void each(const uint8_t* quants, Use use) {
    const U8x64 raw[2] = {load_u8(quants), load_u8(quants + 64)};
    each_index<8>([&](auto g) TENON_INLINED { use(g, bits<g % 4 * 2, 3>(raw[g / 4])); });
  }
  /// Like each(), but with four times the codes of odd groups, which spares half of the moves.
  template <typename Use>
  [[gnu::always_inline]] static void each_in_place(const uint8_t* quants, Use use) {
    const U8x64 raw[2] = {load_u8(quants), load_u8(quants + 64)};
    each_index<8>([&](auto g)
                      TENON_INLINED { use(g, bits<g % 4 / 2 * 4, (3 << g % 2 * 2)>(raw[g / 4])); });
  }
};
/// Two three-bit codes in the nibbles of each of three vectors, and two more in the remaining bits.
struct Plain3 {
  static constexpr uint64_t kBytes = 192;
  template <typename Use>
  [[gnu::always_inline]] static void each(const uint8_t* quants, Use use) {
    each_index<3>([&](auto i) TENON_INLINED {
      const U8x64 raw = load_u8(quants + 64 * i);
      use(std::integral_constant<int, 2 * i>(), bits<0, 7>(raw));
      use(std::integral_constant<int, 2 * i + 1>(), bits<4, 7>(raw));
    });
    const U8x64 last = last_codes(quants);
    use(std::integral_constant<int, 6>(), bits<0, 7>(last));
    use(std::integral_constant<int, 7>(), bits<4, 7>(last));
  }
  /// Table entries (of 8) instead of codes.
  template <typename Use>
  [[gnu::always_inline]] static void each_entry(const uint8_t* quants, const Bytes16& table,
                                                Use use) {
    each_index<4>([&](auto i) TENON_INLINED {
      const U8x64 nibbles = i < 3 ? bits<0, 0x77>(load_u8(quants + 64 * i)) : last_codes(quants);
      const TwoU8x64 entries = lookup_nibbles(nibbles, table);
      use(std::integral_constant<int, 2 * i>(), entries.low);
      use(std::integral_constant<int, 2 * i + 1>(), entries.high);
    });
  }
  static U8x64 last_codes(const uint8_t* quants) {
    return join_top_bits(load_u8(quants), load_u8(quants + 64), load_u8(quants + 128));
  }
};
/// Twice bit kBit of a nibble.
template <int kBit>
inline constexpr Bytes16 kTwoOfBit = [] {
  Bytes16 table{};
  for (int nibble = 0; nibble < 16; ++nibble) {
    table.v[nibble] = static_cast<uint8_t>((nibble >> kBit & 1) * 2);
  }
  return table;
}();
/// Bits that mean 0 and 2, in columns of 16 rows.
struct Signs1 {
  static constexpr uint64_t kBytes = 64;
  template <typename Use>
  [[gnu::always_inline]] static void each(const uint8_t* quants, Use use) {
    const U8x64 plane = load_columns(quants);
    const U8x64 nibbles[2] = {low_nibbles(plane), high_nibbles(plane)};
    each_index<8>([&](auto g) TENON_INLINED { use(g, lookup(nibbles[g / 4], kTwoOfBit<g % 4>)); });
  }
};

// ---- Units -------------------------------------------------------------------------------------

inline F32x16 half_vector(const uint8_t* panel_block, uint32_t index) {
  return load_f16(reinterpret_cast<const uint16_t*>(panel_block) + index * kRows);
}

/// One f16 scale, weights d * (byte - bias): q4_0, q5_0, q8_0, iq4_nl, q1_0, q2_0, tq2_0.
template <typename Bytes, typename WeightsOf, int kByteBias, uint32_t kNumBlocks>
struct HalfBlock {
  using Weights = WeightsOf;
  static constexpr bool kUnpacksFast = unpacks_fast<Bytes>();
  static constexpr int kBias = kByteBias;
  static constexpr bool kHasOffset = false;
  static constexpr uint32_t kBlocks = kNumBlocks;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kBytes = 2 * kRows + kBlocks * Bytes::kBytes;
  const uint8_t* quants;
  F32x16 d;
  explicit HalfBlock(const uint8_t* panel_block)
      : quants(panel_block + 2 * kRows), d(half_vector(panel_block, 0)) {}
  [[nodiscard]] F32x16 scale(uint32_t) const { return d; }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t b, Use use) const {
    Bytes::each(quants + b * Bytes::kBytes, use);
  }
  template <typename Use>
  [[gnu::always_inline]] void each_in_place(uint32_t b,
                                            Use use) const requires std::is_same_v<Bytes, Plain2> {
    Bytes::each_in_place(quants + b * Bytes::kBytes, use);
  }
};

/// f16 d and a signed scale byte per group, weights d * scale * (byte - bias): q6_K, iq4_xs, q3_K.
template <typename Bytes, typename WeightsOf, int kByteBias, uint32_t kGroupValues>
struct SuperBlock {
  using Weights = WeightsOf;
  static constexpr bool kUnpacksFast = unpacks_fast<Bytes>();
  static constexpr int kBias = kByteBias;
  static constexpr bool kHasOffset = false;
  static constexpr uint32_t kBlocks = 8;
  static constexpr uint32_t kGroup = kGroupValues;
  static constexpr uint64_t kHead = (2 + 256 / kGroup) * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * Bytes::kBytes;
  const uint8_t* bytes;
  F32x16 d;
  explicit SuperBlock(const uint8_t* panel_block)
      : bytes(panel_block), d(half_vector(panel_block, 0)) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const {
    return mul(d, load_s8_as_f32(bytes + (2 + group) * kRows));
  }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t b, Use use) const {
    Bytes::each(bytes + kHead + b * Bytes::kBytes, use);
  }
};

/// f16 scale and f16 offset: q4_1, q5_1. A bias keeps the bytes of a tile small.
template <typename Bytes, typename WeightsOf, int kByteBias>
struct HalfMinBlock {
  using Weights = WeightsOf;
  static constexpr bool kUnpacksFast = unpacks_fast<Bytes>();
  static constexpr int kBias = kByteBias;
  static constexpr bool kHasOffset = true;
  static constexpr uint32_t kBlocks = 1;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kBytes = 4 * kRows + Bytes::kBytes;
  const uint8_t* quants;
  F32x16 d, m;
  explicit HalfMinBlock(const uint8_t* panel_block)
      : quants(panel_block + 4 * kRows),
        d(half_vector(panel_block, 0)),
        m(half_vector(panel_block, 1)) {}
  [[nodiscard]] F32x16 scale(uint32_t) const { return d; }
  [[nodiscard]] F32x16 offset(uint32_t, F32x16 scale) const {
    return fma(scale, broadcast(static_cast<float>(kBias)), m);
  }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t, Use use) const {
    Bytes::each(quants, use);
  }
};

/// f16 d and dmin, 8 integer scales and minima: q4_K, q5_K.
template <typename Bytes, typename WeightsOf, int kByteBias>
struct SuperMinBlock {
  using Weights = WeightsOf;
  static constexpr bool kUnpacksFast = unpacks_fast<Bytes>();
  static constexpr int kBias = kByteBias;
  static constexpr bool kHasOffset = true;
  static constexpr uint32_t kBlocks = 8;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kHead = 20 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * Bytes::kBytes;
  const uint8_t* bytes;
  F32x16 d, negative_dmin;
  explicit SuperMinBlock(const uint8_t* panel_block)
      : bytes(panel_block),
        d(half_vector(panel_block, 0)),
        negative_dmin(mul(half_vector(panel_block, 1), broadcast(-1.0f))) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const {
    return mul(d, load_u8_as_f32(bytes + (4 + group) * kRows));
  }
  [[nodiscard]] F32x16 offset(uint32_t group, F32x16 scale) const {
    const F32x16 minimum = mul(negative_dmin, load_u8_as_f32(bytes + (12 + group) * kRows));
    return kBias == 0 ? minimum : fma(scale, broadcast(static_cast<float>(kBias)), minimum);
  }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t b, Use use) const {
    Bytes::each(bytes + kHead + b * Bytes::kBytes, use);
  }
};

/// q2_K: f16 d and dmin, a byte of two nibbles per 16 values: weights d * low * byte - dmin * high.
struct Super2Block {
  using Weights = Unsigned<3>;
  static constexpr bool kUnpacksFast = true;
  static constexpr int kBias = 0;
  static constexpr bool kHasOffset = true;
  static constexpr uint32_t kBlocks = 8;
  static constexpr uint32_t kGroup = 16;
  static constexpr uint64_t kHead = 20 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * Plain2::kBytes;
  const uint8_t* bytes;
  F32x16 d, negative_dmin;
  explicit Super2Block(const uint8_t* panel_block)
      : bytes(panel_block),
        d(half_vector(panel_block, 0)),
        negative_dmin(mul(half_vector(panel_block, 1), broadcast(-1.0f))) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const {
    const I32x16 both = load_u8_as_i32(bytes + (4 + group) * kRows);
    return mul(d, to_f32(bit_and(both, broadcast_i32(15))));
  }
  [[nodiscard]] F32x16 offset(uint32_t group, F32x16) const {
    const I32x16 both = load_u8_as_i32(bytes + (4 + group) * kRows);
    return mul(negative_dmin, to_f32(shift_right(both, 4)));
  }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t b, Use use) const {
    Plain2::each(bytes + kHead + b * Plain2::kBytes, use);
  }
  template <typename Use>
  [[gnu::always_inline]] void each_in_place(uint32_t b, Use use) const {
    Plain2::each_in_place(bytes + kHead + b * Plain2::kBytes, use);
  }
};

/// 2^(code - 128) (quant/half.h), as the product of two normal powers.
inline F32x16 load_e8m0_half(const uint8_t* p) {
  const I32x16 code = load_u8_as_i32(p);
  const I32x16 first = shift_right(code, 1);
  const I32x16 second = shift_right(add(code, broadcast_i32(1)), 1);
  const auto power = [](I32x16 n) {
    return as_f32(shift_left(add(n, broadcast_i32(127 - 64)), 23));
  };
  return mul(power(first), power(second));
}

/// mxfp4: one e8m0 scale per 32 values.
struct Mxfp4Block {
  using Weights = Unsigned<2 * kFp4Bias>;
  static constexpr int kBias = kFp4Bias;
  static constexpr bool kHasOffset = false;
  static constexpr uint32_t kBlocks = 1;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kBytes = kRows + Coded4<kFp4Table>::kBytes;
  const uint8_t* bytes;
  explicit Mxfp4Block(const uint8_t* panel_block) : bytes(panel_block) {}
  [[nodiscard]] F32x16 scale(uint32_t) const { return load_e8m0_half(bytes); }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t, Use use) const {
    Coded4<kFp4Table>::each(bytes + kRows, use);
  }
};

/// nvfp4: a ue4m3 scale per 16 values, 64 values per panel block.
struct Nvfp4Block {
  using Weights = Unsigned<2 * kFp4Bias>;
  static constexpr int kBias = kFp4Bias;
  static constexpr bool kHasOffset = false;
  static constexpr uint32_t kBlocks = 2;
  static constexpr uint32_t kGroup = 16;
  static constexpr uint64_t kHead = 4 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * Coded4<kFp4Table>::kBytes;
  const uint8_t* bytes;
  explicit Nvfp4Block(const uint8_t* panel_block) : bytes(panel_block) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const {
    return load_ue4m3_half(bytes + group * kRows);
  }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t b, Use use) const {
    Coded4<kFp4Table>::each(bytes + kHead + b * Coded4<kFp4Table>::kBytes, use);
  }
};

using Q4HalfBlock = HalfBlock<Plain4, Unsigned<15>, 8, 1>;
using Q4HalfMinBlock = HalfMinBlock<Plain4, Unsigned<15>, 0>;
using Q5HalfBlock = HalfBlock<Plain5, Unsigned<31>, 16, 1>;
using Q5HalfMinBlock = HalfMinBlock<Plain5, Unsigned<31>, 16>;
using Q8HalfBlock = HalfBlock<Signed8, Wide, kWideBias, 1>;
using Q4SuperBlock = SuperMinBlock<Plain4, Unsigned<15>, 0>;
using Q5SuperBlock = SuperMinBlock<Plain5, Unsigned<31>, 16>;
using Q6SuperBlock = SuperBlock<Plain6, Unsigned<63>, 32, 16>;
using Iq4NlBlock = HalfBlock<Coded4<kIq4Table>, Wide, kWideBias, 1>;
using Iq4XsBlock = SuperBlock<Coded4<kIq4Table>, Wide, kWideBias, 32>;
using Q1Block = HalfBlock<Signs1, Unsigned<2>, 1, 4>;
using Q2Block = HalfBlock<Plain2, Unsigned<3>, 1, 2>;
using Tq2Block = HalfBlock<Plain2, Unsigned<3>, 1, 8>;
using Q3SuperBlock = SuperBlock<Plain3, Unsigned<7>, 4, 16>;

}  // namespace tenon::cpu::TENON_CPU_ISA
