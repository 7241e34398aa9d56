// The vector type without intrinsics: plain loops that compilers may vectorise for any machine.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "quant/half.h"

namespace tenon::cpu::TENON_CPU_ISA {

struct F32x16 {
  float v[16];
};
struct I32x16 {
  int32_t v[16];
};
struct U8x64 {
  uint8_t v[64];
};
/// Tables for lookup().
struct alignas(16) Bytes16 {
  uint8_t v[16];
};
struct alignas(32) Floats8 {
  float v[8];
};
struct TwoU8x64 {
  U8x64 low, high;
};

template <typename F>
inline F32x16 each_f32(F f) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = f(i);
  return r;
}
template <typename F>
inline I32x16 each_i32(F f) {
  I32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = f(i);
  return r;
}
template <typename F>
inline U8x64 each_u8(F f) {
  U8x64 r;
  for (int i = 0; i < 64; ++i) r.v[i] = static_cast<uint8_t>(f(i));
  return r;
}

inline F32x16 broadcast(float x) {
  return each_f32([=](int) { return x; });
}
inline F32x16 load(const float* p) {
  F32x16 r;
  std::memcpy(r.v, p, sizeof(r.v));
  return r;
}
inline void store(float* p, F32x16 x) { std::memcpy(p, x.v, sizeof(x.v)); }
inline F32x16 load_f16(const uint16_t* p) {
  return each_f32([=](int i) { return f16_to_f32(p[i]); });
}
inline F32x16 load_bf16(const uint16_t* p) {
  return each_f32([=](int i) { return tenon::bf16_to_f32(p[i]); });
}
inline void store_f16(uint16_t* p, F32x16 x) {
  for (int i = 0; i < 16; ++i) p[i] = f32_to_f16(x.v[i]);
}
inline F32x16 load_u8_as_f32(const uint8_t* p) {
  return each_f32([=](int i) { return static_cast<float>(p[i]); });
}
inline F32x16 load_s8_as_f32(const uint8_t* p) {
  return each_f32([=](int i) { return static_cast<float>(static_cast<int8_t>(p[i])); });
}
/// 2 c - 15 for the codes c in the low (0) or high (1) halves of 16 bytes.
template <int kHalf>
inline F32x16 load_q4_levels(const uint8_t* p) {
  return each_f32([=](int i) { return static_cast<float>(2 * ((p[i] >> (4 * kHalf)) & 15) - 15); });
}
inline F32x16 add(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return a.v[i] + b.v[i]; });
}
inline F32x16 sub(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return a.v[i] - b.v[i]; });
}
inline F32x16 mul(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return a.v[i] * b.v[i]; });
}
inline F32x16 div(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return a.v[i] / b.v[i]; });
}
// Without an FMA unit, a fused multiply-add is a slow function: rounds twice here.
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return each_f32([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
}
// Like maxps and minps: the second operand if either is NaN.
inline F32x16 max(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline F32x16 min(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return b.v[i] < a.v[i] ? b.v[i] : a.v[i]; });
}
inline F32x16 round_nearest(F32x16 a) {
  return each_f32([&](int i) { return std::nearbyint(a.v[i]); });
}
inline F32x16 zero_where_less(F32x16 a, F32x16 b, F32x16 x) {
  return each_f32([&](int i) { return a.v[i] < b.v[i] ? 0.0f : x.v[i]; });
}
/// x * 2^n for integral n in -126..127; n is NaN where x is.
inline F32x16 scale_by_power_of_two(F32x16 x, F32x16 n) {
  return each_f32([&](int i) {
    if (!(n.v[i] == n.v[i])) return n.v[i];
    const int32_t bits = (static_cast<int32_t>(n.v[i]) + 127) << 23;
    float power;
    std::memcpy(&power, &bits, sizeof(power));
    return x.v[i] * power;
  });
}
/// The sum of the lanes, pairwise: lanes i and i + 8, then i + 4, i + 2, i + 1.
inline float sum(F32x16 x) {
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) x.v[i] += x.v[i + width];
  }
  return x.v[0];
}
/// Largest magnitude of the lanes; infinity or NaN if a lane is.
inline float max_magnitude(F32x16 a, F32x16 b) {
  // As integers, magnitudes order like the numbers, with infinity and NaN on top.
  uint32_t largest = 0;
  for (int i = 0; i < 32; ++i) {
    const float lane = i < 16 ? a.v[i] : b.v[i - 16];
    const uint32_t bits = std::bit_cast<uint32_t>(lane) & 0x7FFFFFFFu;
    largest = bits > largest ? bits : largest;
  }
  return std::bit_cast<float>(largest);
}
inline float max_lane(F32x16 x) {
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) x.v[i] = x.v[i] > x.v[i + width] ? x.v[i] : x.v[i + width];
  }
  return x.v[0];
}

inline F32x16 to_f32(I32x16 x) {
  return each_f32([&](int i) { return static_cast<float>(x.v[i]); });
}
/// Lanes must be in -127..127 (or NaN, which gives an unspecified byte).
inline void store_s8(int8_t* p, F32x16 x) {
  for (int i = 0; i < 16; ++i) {
    p[i] = x.v[i] >= -127.0f && x.v[i] <= 127.0f ? static_cast<int8_t>(x.v[i]) : int8_t{0};
  }
}

/// Sums of the first eight and the next eight bytes.
inline HalfTotals sums_of_8(const int8_t* p) {
  int32_t sums[2] = {};
  for (int i = 0; i < 16; ++i) sums[i / 8] += p[i];
  return {static_cast<int16_t>(sums[0]), static_cast<int16_t>(sums[1])};
}

inline U8x64 load_u8(const uint8_t* p) {
  U8x64 r;
  std::memcpy(r.v, p, sizeof(r.v));
  return r;
}
/// Four columns of 16 bytes as rows: byte 4r + j is byte 16j + r of memory.
inline U8x64 load_columns(const uint8_t* p) {
  return each_u8([&](int i) { return p[i % 4 * 16 + i / 4]; });
}
inline U8x64 low_nibbles(U8x64 x) {
  return each_u8([&](int i) { return x.v[i] & 0x0F; });
}
inline U8x64 high_nibbles(U8x64 x) {
  return each_u8([&](int i) { return x.v[i] >> 4; });
}
/// w | (((plane >> right) << left) & mask), per byte: merges a bit plane.
template <int kRight, int kLeft, int kMask>
inline U8x64 or_bits(U8x64 w, U8x64 plane) {
  return each_u8([&](int i) { return w.v[i] | (((plane.v[i] >> kRight) << kLeft) & kMask); });
}

inline void store_u8(uint8_t* p, U8x64 x) { std::memcpy(p, x.v, sizeof(x.v)); }
/// (x >> kRight) & kMask, byte by byte.
template <int kRight, int kMask>
inline U8x64 bits(U8x64 x) {
  return each_u8([&](int i) { return x.v[i] >> kRight & kMask; });
}
/// Bits 3 and 7 of each byte of three vectors as bits 0, 1, 2 and 4, 5, 6.
inline U8x64 join_top_bits(U8x64 a, U8x64 b, U8x64 c) {
  return or_bits<1, 0, 0x44>(or_bits<2, 0, 0x22>(bits<3, 0x11>(a), b), c);
}
/// ((x >> right) << left) & mask, byte by byte.
template <int kRight, int kLeft, int kMask>
inline U8x64 moved_bits(U8x64 x) {
  return each_u8([&](int i) { return ((x.v[i] >> kRight) << kLeft) & kMask; });
}
/// Table entry (of 16) for each byte, 0..15.
inline U8x64 lookup(U8x64 codes, const Bytes16& table) {
  return each_u8([&](int i) { return table.v[codes.v[i]]; });
}

/// Table entries for the low and the high nibble of each byte, all below 8.
inline TwoU8x64 lookup_nibbles(U8x64 x, const Bytes16& table) {
  return {lookup(low_nibbles(x), table), lookup(high_nibbles(x), table)};
}
inline U8x64 or_bytes(U8x64 a, U8x64 b) {
  return each_u8([&](int i) { return a.v[i] | b.v[i]; });
}
/// Repeats the lowest byte of each lane in all four bytes.
inline U8x64 repeat_lowest_byte(I32x16 x) {
  return each_u8([&](int i) { return x.v[i / 4] & 0xFF; });
}

inline F32x16 as_f32(I32x16 x) {
  F32x16 r;
  std::memcpy(r.v, x.v, sizeof(r.v));
  return r;
}
inline I32x16 load_u8_as_i32(const uint8_t* p) {
  return each_i32([=](int i) { return p[i]; });
}
inline I32x16 broadcast_i32(int32_t x) {
  return each_i32([=](int) { return x; });
}
inline I32x16 add(I32x16 a, I32x16 b) {
  return each_i32([&](int i) { return a.v[i] + b.v[i]; });
}
inline I32x16 bit_and(I32x16 a, I32x16 b) {
  return each_i32([&](int i) { return a.v[i] & b.v[i]; });
}
/// Shifts in zeros; n is 0..31.
inline I32x16 shift_left(I32x16 x, int n) {
  return each_i32([&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(x.v[i]) << n); });
}
inline I32x16 shift_right(I32x16 x, int n) {
  return each_i32([&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(x.v[i]) >> n); });
}
/// Table entry for the three lowest bits of each lane.
inline F32x16 lookup(I32x16 codes, const Floats8& table) {
  return each_f32([&](int i) { return table.v[codes.v[i] & 7]; });
}
/// kFactor times the totals of half a block, or of both halves, in all lanes.
template <int kFactor>
inline I32x16 times_total(const HalfTotals& half) {
  return broadcast_i32(kFactor * half.both());
}
template <int kFactor>
inline I32x16 times_total(const HalfTotals& half, const HalfTotals& other) {
  return broadcast_i32(kFactor * (half.both() + other.both()));
}
/// kSet times each total whose code bit is set, kClear times the others. The first total belongs to
/// bit 0 of a lane, the last to bit 1.
template <int kClear, int kSet>
inline I32x16 choose_sums(I32x16 codes, const HalfTotals& totals) {
  return each_i32([=](int i) {
    return ((codes.v[i] & 1) != 0 ? kSet : kClear) * totals.first +
           ((codes.v[i] & 2) != 0 ? kSet : kClear) * totals.last;
  });
}
/// Half of the unsigned e4m3 numbers (quant/half.h), with 0x7f as 480.
inline F32x16 load_ue4m3_half(const uint8_t* p) {
  return each_f32([=](int i) { return f16_to_f32(static_cast<uint16_t>(p[i] << 7)) * 128.0f; });
}

/// Subtracts per byte, modulo 256.
inline U8x64 subtract(U8x64 x, int y) {
  return each_u8([&](int i) { return x.v[i] - y; });
}
inline I32x16 load_i32(const int32_t* p) {
  I32x16 r;
  std::memcpy(r.v, p, sizeof(r.v));
  return r;
}
inline void store_i32(int32_t* p, I32x16 x) { std::memcpy(p, x.v, sizeof(x.v)); }
inline I32x16 negative(I32x16 x) {
  return each_i32([&](int i) { return -x.v[i]; });
}

/// `start` and the sums of products of weights with signed activations, in 16 rows: row r gains
/// sum_{i<4} w[4r + i] * a[i].
template <typename Byte>
struct Dot {
  using Activation = int8_t;
  I32x16 s;
  explicit Dot(int32_t start = 0) : s(broadcast_i32(start)) {}
  explicit Dot(I32x16 start) : s(start) {}
  // Out of line: halves the code, and the vectors are in memory anyway.
  [[gnu::noinline]] void add(const U8x64& w, const int8_t* a) {
    for (int r = 0; r < 16; ++r) {
      for (int i = 0; i < 4; ++i) {
        s.v[r] += static_cast<int32_t>(static_cast<Byte>(w.v[4 * r + i])) * a[i];
      }
    }
  }
  void settle() {}
  [[nodiscard]] I32x16 total() const { return s; }
};
using DotU8 = Dot<uint8_t>;
constexpr int settle_every(int) { return 4; }

/// The dot product for weights that need all eight bits: takes w + kWideBias.
using DotWide = Dot<int8_t>;
inline constexpr int kWideBias = 0;
/// Converts signed bytes for DotWide.
inline U8x64 wide_bytes(U8x64 x) { return x; }

/// Accumulator of a micro-kernel over a tile: signed weights.
using TileDot = Dot<int8_t>;
using TileDotWide = TileDot;
inline constexpr bool kTilesReadSigned = true;
inline constexpr bool kTilesReadBiased = false;
constexpr int tile_settle_every(int) { return 8; }

/// No fixed point: products of 16-bit integers are no denser than those of f32.
using DotS16 = void;
/// No sign tables for q1_0: see AVX2.
using SignTables = void;
/// No dot products of codes in place.
template <int kUnit>
using DotInPlace = void;

/// Columns per linear kernel call.
inline constexpr int kColumns = 4;
/// Fewest columns of a micro-kernel over a tile: narrower kernels would double the code without use
/// on these machines.
inline constexpr int kFewestColumns = kColumns;
/// True if there are kernels of three columns.
inline constexpr bool kThreeColumns = false;
/// Panels per tile: two would need twice the registers.
inline constexpr int kTilePanels = 1;
/// Values of k per tile of bytes.
inline constexpr uint32_t kByteTileDepth = 256;
inline constexpr int kTileColumns = kColumns;
/// Most rows multiplied while weights are unpacked: each further row would add as much code without
/// use on these machines.
inline constexpr int kDirectRows = 1;
/// Most rows multiplied with packed weights instead of tiles.
inline constexpr int kPackedRows = kDirectRows;
inline constexpr int kFloatColumns = 2;
/// Values of k per chunk of a float panel, converted to an f32 tile in the first-level cache,
/// because so few columns would repeat the conversion.
inline constexpr uint64_t kFloatDepth = 128;
inline constexpr bool kFloatTiles = true;

/// Attention: vectors and columns of the score and value kernels.
inline constexpr int kAttentionVectors = 1;
inline constexpr int kAttentionColumns = 4;
inline constexpr int kValueVectors = 1;
inline constexpr int kValueColumns = 4;

}  // namespace tenon::cpu::TENON_CPU_ISA
