// The vector type on Advanced SIMD with the dot product instructions (Armv8.2 and later): four
// 128-bit registers. With the matrix instructions (i8mm), tiles have their own layout.
#pragma once

#include <arm_neon.h>

#include <bit>
#include <cstdint>
#include <cstring>

namespace tenon::cpu::TENON_CPU_ISA {

struct F32x16 {
  float32x4_t v[4];
};
struct I32x16 {
  int32x4_t v[4];
};
struct U8x64 {
  uint8x16_t v[4];
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
  return {{f(0), f(1), f(2), f(3)}};
}
template <typename F>
inline I32x16 each_i32(F f) {
  return {{f(0), f(1), f(2), f(3)}};
}
template <typename F>
inline U8x64 each_u8(F f) {
  return {{f(0), f(1), f(2), f(3)}};
}

inline F32x16 broadcast(float x) {
  return each_f32([=](int) { return vdupq_n_f32(x); });
}
inline F32x16 load(const float* p) {
  return each_f32([=](int i) { return vld1q_f32(p + 4 * i); });
}
inline void store(float* p, F32x16 x) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, x.v[i]);
}
inline F32x16 load_f16(const uint16_t* p) {
  return each_f32([=](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i))); });
}
inline F32x16 load_bf16(const uint16_t* p) {
  return each_f32(
      [=](int i) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * i), 16)); });
}
inline void store_f16(uint16_t* p, F32x16 x) {
  for (int i = 0; i < 4; ++i) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(x.v[i])));
}
inline I32x16 load_u8_as_i32(const uint8_t* p) {
  const uint8x16_t x = vld1q_u8(p);
  const uint16x8_t low = vmovl_u8(vget_low_u8(x));
  const uint16x8_t high = vmovl_u8(vget_high_u8(x));
  return {{vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))),
           vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(low))),
           vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))),
           vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(high)))}};
}
inline F32x16 to_f32(I32x16 x) {
  return each_f32([&](int i) { return vcvtq_f32_s32(x.v[i]); });
}
inline F32x16 load_u8_as_f32(const uint8_t* p) { return to_f32(load_u8_as_i32(p)); }
inline F32x16 load_s8_as_f32(const uint8_t* p) {
  const int8x16_t x = vreinterpretq_s8_u8(vld1q_u8(p));
  const int16x8_t low = vmovl_s8(vget_low_s8(x));
  const int16x8_t high = vmovl_s8(vget_high_s8(x));
  return to_f32({{vmovl_s16(vget_low_s16(low)), vmovl_s16(vget_high_s16(low)),
                  vmovl_s16(vget_low_s16(high)), vmovl_s16(vget_high_s16(high))}});
}
/// 2 c - 15 for the codes c in the low (0) or high (1) halves of 16 bytes.
template <int kHalf>
inline F32x16 load_q4_levels(const uint8_t* p) {
  const uint8x16_t bytes = vld1q_u8(p);
  const uint8x16_t codes = kHalf == 0 ? vandq_u8(bytes, vdupq_n_u8(15)) : vshrq_n_u8(bytes, 4);
  const int8x16_t doubled = vreinterpretq_s8_u8(vaddq_u8(codes, codes));
  const int8x16_t levels = vsubq_s8(doubled, vdupq_n_s8(15));
  const int16x8_t halves[2] = {vmovl_s8(vget_low_s8(levels)), vmovl_s8(vget_high_s8(levels))};
  return each_f32([&](int i) {
    const int16x8_t half = halves[i / 2];
    return vcvtq_f32_s32(vmovl_s16(i % 2 == 0 ? vget_low_s16(half) : vget_high_s16(half)));
  });
}
inline F32x16 add(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return vaddq_f32(a.v[i], b.v[i]); });
}
inline F32x16 sub(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return vsubq_f32(a.v[i], b.v[i]); });
}
inline F32x16 mul(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return vmulq_f32(a.v[i], b.v[i]); });
}
inline F32x16 div(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return vdivq_f32(a.v[i], b.v[i]); });
}
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return each_f32([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); });
}
// NaN if either is NaN.
inline F32x16 max(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return vmaxq_f32(a.v[i], b.v[i]); });
}
inline F32x16 min(F32x16 a, F32x16 b) {
  return each_f32([&](int i) { return vminq_f32(a.v[i], b.v[i]); });
}
inline F32x16 round_nearest(F32x16 a) {
  return each_f32([&](int i) { return vrndnq_f32(a.v[i]); });
}
inline F32x16 zero_where_less(F32x16 a, F32x16 b, F32x16 x) {
  return each_f32([&](int i) {
    return vreinterpretq_f32_u32(
        vbicq_u32(vreinterpretq_u32_f32(x.v[i]), vcltq_f32(a.v[i], b.v[i])));
  });
}
/// x * 2^n for integral n in -126..127; x is NaN where n is.
inline F32x16 scale_by_power_of_two(F32x16 x, F32x16 n) {
  return each_f32([&](int i) {
    const int32x4_t exponent = vaddq_s32(vcvtq_s32_f32(n.v[i]), vdupq_n_s32(127));
    return vmulq_f32(x.v[i], vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23)));
  });
}
/// The sum of the lanes, pairwise: lanes i and i + 8, then i + 4, i + 2, i + 1.
inline float sum(F32x16 x) {
  const float32x4_t a = vaddq_f32(vaddq_f32(x.v[0], x.v[2]), vaddq_f32(x.v[1], x.v[3]));
  const float32x2_t b = vadd_f32(vget_low_f32(a), vget_high_f32(a));
  return vget_lane_f32(b, 0) + vget_lane_f32(b, 1);
}
/// Largest magnitude of the lanes; infinity or NaN if a lane is.
inline float max_magnitude(F32x16 x, F32x16 y) {
  // As integers, magnitudes order like the numbers, with infinity and NaN on top.
  const auto bits = [&](int i) {
    return vmaxq_u32(vreinterpretq_u32_f32(vabsq_f32(x.v[i])),
                     vreinterpretq_u32_f32(vabsq_f32(y.v[i])));
  };
  const uint32x4_t a = vmaxq_u32(vmaxq_u32(bits(0), bits(1)), vmaxq_u32(bits(2), bits(3)));
  return std::bit_cast<float>(vmaxvq_u32(a));
}
inline float max_lane(F32x16 x) {
  return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.v[0], x.v[1]), vmaxq_f32(x.v[2], x.v[3])));
}
/// Lanes must be in -127..127 (or NaN, which gives an unspecified byte).
inline void store_s8(int8_t* p, F32x16 x) {
  const auto words = [&](int i) { return vqmovn_s32(vcvtq_s32_f32(x.v[i])); };
  vst1_s8(p, vqmovn_s16(vcombine_s16(words(0), words(1))));
  vst1_s8(p + 8, vqmovn_s16(vcombine_s16(words(2), words(3))));
}

/// Sums of the first eight and the next eight bytes.
inline HalfTotals sums_of_8(const int8_t* p) {
  return {vaddlv_s8(vld1_s8(p)), vaddlv_s8(vld1_s8(p + 8))};
}

inline U8x64 load_u8(const uint8_t* p) {
  return each_u8([=](int i) { return vld1q_u8(p + 16 * i); });
}
inline void store_u8(uint8_t* p, U8x64 x) {
  for (int i = 0; i < 4; ++i) vst1q_u8(p + 16 * i, x.v[i]);
}
/// Four columns of 16 bytes as rows: byte 4r + j is byte 16j + r of memory.
inline U8x64 load_columns(const uint8_t* p) {
  const U8x64 x = load_u8(p);
  const uint8x16x2_t even = vzipq_u8(x.v[0], x.v[2]), odd = vzipq_u8(x.v[1], x.v[3]);
  const uint8x16x2_t first = vzipq_u8(even.val[0], odd.val[0]);
  const uint8x16x2_t last = vzipq_u8(even.val[1], odd.val[1]);
  return {{first.val[0], first.val[1], last.val[0], last.val[1]}};
}
inline U8x64 low_nibbles(U8x64 x) {
  return each_u8([&](int i) { return vandq_u8(x.v[i], vdupq_n_u8(0x0F)); });
}
inline U8x64 high_nibbles(U8x64 x) {
  return each_u8([&](int i) { return vshrq_n_u8(x.v[i], 4); });
}
template <int kRight>
inline uint8x16_t shift_right_bytes(uint8x16_t x) {
  if constexpr (kRight == 0) {
    return x;
  } else {
    return vshrq_n_u8(x, kRight);
  }
}
/// w | (((plane >> right) << left) & mask), per byte: merges a bit plane.
template <int kRight, int kLeft, int kMask>
inline U8x64 or_bits(U8x64 w, U8x64 plane) {
  return each_u8([&](int i) {
    const uint8x16_t moved = vshlq_n_u8(shift_right_bytes<kRight>(plane.v[i]), kLeft);
    return vorrq_u8(w.v[i], vandq_u8(moved, vdupq_n_u8(kMask)));
  });
}
/// (x >> kRight) & kMask, byte by byte.
template <int kRight, int kMask>
inline U8x64 bits(U8x64 x) {
  return each_u8(
      [&](int i) { return vandq_u8(shift_right_bytes<kRight>(x.v[i]), vdupq_n_u8(kMask)); });
}
/// Bits 3 and 7 of each byte of three vectors as bits 0, 1, 2 and 4, 5, 6.
inline U8x64 join_top_bits(U8x64 a, U8x64 b, U8x64 c) {
  return or_bits<1, 0, 0x44>(or_bits<2, 0, 0x22>(bits<3, 0x11>(a), b), c);
}
/// ((x >> right) << left) & mask, byte by byte.
template <int kRight, int kLeft, int kMask>
inline U8x64 moved_bits(U8x64 x) {
  return each_u8([&](int i) {
    const uint8x16_t moved = vshlq_n_u8(shift_right_bytes<kRight>(x.v[i]), kLeft);
    return vandq_u8(moved, vdupq_n_u8(kMask));
  });
}
/// Table entry (of 16) for each byte, 0..15.
inline U8x64 lookup(U8x64 codes, const Bytes16& table) {
  const uint8x16_t entries = vld1q_u8(table.v);
  return each_u8([&](int i) { return vqtbl1q_u8(entries, codes.v[i]); });
}

/// Table entries for the low and the high nibble of each byte, all below 8.
inline TwoU8x64 lookup_nibbles(U8x64 x, const Bytes16& table) {
  return {lookup(low_nibbles(x), table), lookup(high_nibbles(x), table)};
}
inline U8x64 or_bytes(U8x64 a, U8x64 b) {
  return each_u8([&](int i) { return vorrq_u8(a.v[i], b.v[i]); });
}
/// Repeats the lowest byte of each lane in all four bytes.
inline U8x64 repeat_lowest_byte(I32x16 x) {
  const uint8x16_t lowest = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  return each_u8([&](int i) { return vqtbl1q_u8(vreinterpretq_u8_s32(x.v[i]), lowest); });
}

inline F32x16 as_f32(I32x16 x) {
  return each_f32([&](int i) { return vreinterpretq_f32_s32(x.v[i]); });
}
inline I32x16 broadcast_i32(int32_t x) {
  return each_i32([=](int) { return vdupq_n_s32(x); });
}
inline I32x16 add(I32x16 a, I32x16 b) {
  return each_i32([&](int i) { return vaddq_s32(a.v[i], b.v[i]); });
}
inline I32x16 bit_and(I32x16 a, I32x16 b) {
  return each_i32([&](int i) { return vandq_s32(a.v[i], b.v[i]); });
}
/// Shifts in zeros; n is 0..31.
inline I32x16 shift_left(I32x16 x, int n) {
  return each_i32([&](int i) { return vshlq_s32(x.v[i], vdupq_n_s32(n)); });
}
inline I32x16 shift_right(I32x16 x, int n) {
  return each_i32([&](int i) {
    return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(x.v[i]), vdupq_n_s32(-n)));
  });
}
/// Table entry for the three lowest bits of each lane.
inline F32x16 lookup(I32x16 codes, const Floats8& table) {
  const uint8x16x2_t entries = {
      {vreinterpretq_u8_f32(vld1q_f32(table.v)), vreinterpretq_u8_f32(vld1q_f32(table.v + 4))}};
  return each_f32([&](int i) {
    const uint32x4_t index = vandq_u32(vreinterpretq_u32_s32(codes.v[i]), vdupq_n_u32(7));
    const uint32x4_t bytes = vmlaq_n_u32(vdupq_n_u32(0x03020100), index, 0x04040404);
    return vreinterpretq_f32_u8(vqtbl2q_u8(entries, vreinterpretq_u8_u32(bytes)));
  });
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
  const int32x4_t none = vdupq_n_s32(kClear * totals.both());
  const int32x4_t first = vdupq_n_s32((kSet - kClear) * totals.first);
  const int32x4_t last = vdupq_n_s32((kSet - kClear) * totals.last);
  const auto where = [](int32x4_t x, int32x4_t code, int32_t bit) {
    return vandq_s32(x, vreinterpretq_s32_u32(vtstq_s32(code, vdupq_n_s32(bit))));
  };
  return each_i32([&](int i) {
    const int32x4_t code = codes.v[i];
    return vaddq_s32(vaddq_s32(none, where(first, code, 1)), where(last, code, 2));
  });
}
/// Half of the unsigned e4m3 numbers (quant/half.h), with 0x7f as 480: read as f16 they are 2^-8 of
/// that.
inline F32x16 load_ue4m3_half(const uint8_t* p) {
  return each_f32([=](int i) {
    const uint32x4_t codes = {p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]};
    const float16x4_t halves = vreinterpret_f16_u16(vshl_n_u16(vmovn_u32(codes), 7));
    return vmulq_f32(vcvt_f32_f16(halves), vdupq_n_f32(128.0f));
  });
}

/// Subtracts per byte, modulo 256.
inline U8x64 subtract(U8x64 x, int y) {
  return each_u8([&](int i) { return vsubq_u8(x.v[i], vdupq_n_u8(static_cast<uint8_t>(y))); });
}
inline I32x16 load_i32(const int32_t* p) {
  return each_i32([=](int i) { return vld1q_s32(p + 4 * i); });
}
inline void store_i32(int32_t* p, I32x16 x) {
  for (int i = 0; i < 4; ++i) vst1q_s32(p + 4 * i, x.v[i]);
}
inline I32x16 negative(I32x16 x) {
  return each_i32([&](int i) { return vnegq_s32(x.v[i]); });
}

inline int8x16_t broadcast_4_bytes(const int8_t* a) {
  int32_t four;
  std::memcpy(&four, a, sizeof(four));
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

/// `start` and the sums of products of signed weights with signed activations, in 16 rows: row r
/// gains sum_{i<4} w[4r + i] * a[i]. Exact in int32.
struct DotS8 {
  using Activation = int8_t;
  I32x16 s;
  explicit DotS8(int32_t start = 0) : s(broadcast_i32(start)) {}
  explicit DotS8(I32x16 start) : s(start) {}
  void add(U8x64 w, const int8_t* a) {
    const int8x16_t x = broadcast_4_bytes(a);
    for (int i = 0; i < 4; ++i) s.v[i] = vdotq_s32(s.v[i], vreinterpretq_s8_u8(w.v[i]), x);
  }
  void settle() {}
  [[nodiscard]] I32x16 total() const { return s; }
};
#if defined(__ARM_FEATURE_MATMUL_INT8)
/// Like DotS8, for tiles, with the matrix instructions: a weight vector has eight values of k of
/// two rows, an activation vector those of two columns; products are 2 x 2 matrices of sums.
struct DotPairs : DotS8 {
  static constexpr bool kPairsOfRows = true;
  using DotS8::DotS8;

  /// Stores group kG of 4 values of k in its place in a tile block; groups come in order. Of two
  /// groups, vector p holds the eight values of row 2p, then those of row 2p + 1.
  template <int kG>
  static void store_group(uint8_t (&bytes)[8][64], U8x64 weights) {
    store_u8(bytes[kG], weights);
    if constexpr (kG % 2 == 1) {
      const U8x64 even = load_u8(bytes[kG - 1]);
      uint8_t* p = bytes[kG - 1];
      for (int i = 0; i < 4; ++i) {
        const uint32x4_t first = vreinterpretq_u32_u8(even.v[i]);
        const uint32x4_t second = vreinterpretq_u32_u8(weights.v[i]);
        vst1q_u8(p + 32 * i, vreinterpretq_u8_u32(vzip1q_u32(first, second)));
        vst1q_u8(p + 32 * i + 16, vreinterpretq_u8_u32(vzip2q_u32(first, second)));
      }
    }
  }

  /// `start` plus the sums of products of kGroups groups of 4 values of k, in kCols columns.
  /// Activation groups are `stride` bytes apart, with four bytes of each column side by side.
  template <int kGroups, int kCols>
  static void multiply(const uint8_t* weights, const int8_t* q, int stride, I32x16 start,
                       I32x16 (&sums)[kCols]) {
    constexpr int kColumnPairs = (kCols + 1) / 2;
    int32x4_t s[8][kColumnPairs];  // row pair, column pair: row by row
    for (int p = 0; p < 8; ++p) {
      const int32x4_t rows = start.v[p / 2];
      for (int c = 0; c < kColumnPairs; ++c) {
        s[p][c] = p % 2 == 0 ? vzip1q_s32(rows, rows) : vzip2q_s32(rows, rows);
      }
    }
    for (int i = 0; i < kGroups / 2; ++i, q += 2 * stride) {
      const int32x4_t first = load_columns<kCols>(q), second = load_columns<kCols>(q + stride);
      int8x16_t x[2] = {vreinterpretq_s8_s32(vzip1q_s32(first, second)),
                        vreinterpretq_s8_s32(vzip2q_s32(first, second))};
      for (int p = 0; p < 8; ++p) {
        const int8x16_t w = vreinterpretq_s8_u8(vld1q_u8(weights + 128 * i + 16 * p));
        for (int c = 0; c < kColumnPairs; ++c) s[p][c] = vmmlaq_s32(s[p][c], w, x[c]);
      }
    }
    for (int c = 0; c < kCols; ++c) {
      sums[c] = each_i32([&](int v) {
        const int32x4_t a = s[2 * v][c / 2], b = s[2 * v + 1][c / 2];
        return c % 2 == 0 ? vuzp1q_s32(a, b) : vuzp2q_s32(a, b);
      });
    }
  }

 private:
  /// Four bytes of each of kCols columns; a single column is duplicated.
  template <int kCols>
  static int32x4_t load_columns(const int8_t* q) {
    static_assert(kCols == 1 || kCols == 2 || kCols == 4);
    if constexpr (kCols == 4) return vreinterpretq_s32_s8(vld1q_s8(q));
    if constexpr (kCols == 2) {
      const int32x2_t two = vreinterpret_s32_s8(vld1_s8(q));
      return vcombine_s32(two, two);
    }
    return vreinterpretq_s32_s8(broadcast_4_bytes(q));
  }
};
#endif
/// Accumulates unsigned weights, none above 127; weights that need eight bits are signed.
using DotU8 = DotS8;
constexpr int settle_every(int) { return 4; }

/// The dot product for weights that need all eight bits: takes w + kWideBias.
using DotWide = DotS8;
inline constexpr int kWideBias = 0;
/// Converts signed bytes for DotWide.
inline U8x64 wide_bytes(U8x64 x) { return x; }

/// Accumulator of a micro-kernel over a tile.
#if defined(__ARM_FEATURE_MATMUL_INT8)
using TileDot = DotPairs;
#else
using TileDot = DotS8;
#endif
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

/// Columns per linear kernel call: 4 columns x 4 registers of sums, 4 of weights.
inline constexpr int kColumns = 4;
/// Fewest columns of a micro-kernel over a tile.
inline constexpr int kFewestColumns = 1;
/// True if there are kernels of three columns.
inline constexpr bool kThreeColumns = false;
/// Panels per tile: two would need twice the registers.
inline constexpr int kTilePanels = 1;
/// Values of k per tile of bytes.
inline constexpr uint32_t kByteTileDepth = 256;
inline constexpr int kTileColumns = kColumns;
/// Most rows multiplied while weights are unpacked.
inline constexpr int kDirectRows = kColumns;
/// Most rows multiplied with packed weights instead of tiles.
inline constexpr int kPackedRows = kDirectRows;
/// Float kernels: 2 columns x 8 registers of sums, 8 of weights.
inline constexpr int kFloatColumns = 2;
/// Values of k per chunk of a float panel, converted to an f32 tile in the first-level cache,
/// because so few columns would repeat the conversion.
inline constexpr uint64_t kFloatDepth = 128;
inline constexpr bool kFloatTiles = true;

/// Attention: vectors and columns of the score and value kernels (16 registers of sums, 4 of keys
/// or values).
inline constexpr int kAttentionVectors = 1;
inline constexpr int kAttentionColumns = 4;
inline constexpr int kValueVectors = 1;
inline constexpr int kValueColumns = 4;

}  // namespace tenon::cpu::TENON_CPU_ISA
