// The vector type on AVX-512 (F, BW, VL, DQ) with VNNI: one 512-bit register.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <cstring>

namespace tenon::cpu::TENON_CPU_ISA {

struct F32x16 {
  __m512 v;
};
struct I32x16 {
  __m512i v;
};
struct U8x64 {
  __m512i v;
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

inline F32x16 broadcast(float x) { return {_mm512_set1_ps(x)}; }
inline F32x16 load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, F32x16 x) { _mm512_storeu_ps(p, x.v); }
inline __m256i load_32_bytes(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
inline __m128i load_16_bytes(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
inline F32x16 load_f16(const uint16_t* p) { return {_mm512_cvtph_ps(load_32_bytes(p))}; }
inline F32x16 load_bf16(const uint16_t* p) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_32_bytes(p)), 16))};
}
inline void store_f16(uint16_t* p, F32x16 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline F32x16 load_u8_as_f32(const uint8_t* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(load_16_bytes(p)))};
}
inline F32x16 load_s8_as_f32(const uint8_t* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_16_bytes(p)))};
}
/// 2 c - 15 for the codes c in the low (0) or high (1) halves of 16 bytes.
template <int kHalf>
inline F32x16 load_q4_levels(const uint8_t* p) {
  const __m512 levels =
      _mm512_setr_ps(-15, -13, -11, -9, -7, -5, -3, -1, 1, 3, 5, 7, 9, 11, 13, 15);
  // The lookup reads the low 4 bits of each lane.
  return {_mm512_permutexvar_ps(
      _mm512_srli_epi32(_mm512_cvtepu8_epi32(load_16_bytes(p)), 4 * kHalf), levels)};
}
inline F32x16 add(F32x16 a, F32x16 b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F32x16 sub(F32x16 a, F32x16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline F32x16 mul(F32x16 a, F32x16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F32x16 div(F32x16 a, F32x16 b) { return {_mm512_div_ps(a.v, b.v)}; }
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline F32x16 max(F32x16 a, F32x16 b) { return {_mm512_max_ps(a.v, b.v)}; }
// Operands swapped, so that min(NaN, b) is NaN as max(a, NaN) is.
inline F32x16 min(F32x16 a, F32x16 b) { return {_mm512_min_ps(b.v, a.v)}; }
inline F32x16 round_nearest(F32x16 a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
/// a - round_nearest(a)
inline F32x16 from_nearest(F32x16 a) {
  return {_mm512_reduce_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
inline F32x16 zero_where_less(F32x16 a, F32x16 b, F32x16 x) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_NLT_UQ), x.v)};
}
/// x * 2^n for integral n in -126..127; NaN where x or n is.
inline F32x16 scale_by_power_of_two(F32x16 x, F32x16 n) { return {_mm512_scalef_ps(x.v, n.v)}; }
/// The sum of the lanes, pairwise: lanes i and i + 8, then i + 4, i + 2, i + 1.
inline float sum(F32x16 x) {
  const __m256 a = _mm256_add_ps(_mm512_castps512_ps256(x.v), _mm512_extractf32x8_ps(x.v, 1));
  const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));
}
/// Applies sum() to each vector.
inline FourFloats sums_of(const F32x16 (&x)[4]) {
  const auto halves = [](__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
  };
  const __m512 ab = halves(x[0].v, x[1].v);
  const __m512 cd = halves(x[2].v, x[3].v);
  const __m512 quarters =
      _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xDD));
  const __m512 pairs = _mm512_add_ps(quarters, _mm512_permute_ps(quarters, 0x4E));
  const __m512 all = _mm512_add_ps(pairs, _mm512_permute_ps(pairs, 0xB1));
  FourFloats sums;
  _mm_storeu_ps(sums.v, _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, all)));
  return sums;
}
/// Largest magnitude of the lanes; infinity or NaN if a lane is.
inline float max_magnitude(F32x16 a, F32x16 b) {
  // As integers, magnitudes order like the numbers, with infinity and NaN on top.
  const __m512i mask = _mm512_set1_epi32(0x7FFFFFFF);
  const __m512i bits = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(a.v), mask),
                                        _mm512_and_si512(_mm512_castps_si512(b.v), mask));
  return std::bit_cast<float>(_mm512_reduce_max_epu32(bits));
}
inline float max_lane(F32x16 x) { return _mm512_reduce_max_ps(x.v); }

inline F32x16 to_f32(I32x16 x) { return {_mm512_cvtepi32_ps(x.v)}; }
/// Lanes must be in -127..127 (or NaN, which gives an unspecified byte).
inline void store_s8(int8_t* p, F32x16 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x.v)));
}

/// Sums of the first eight and the next eight bytes.
inline HalfTotals sums_of_8(const int8_t* p) {
  const __m128i biased = _mm_xor_si128(load_16_bytes(p), _mm_set1_epi8(static_cast<char>(0x80)));
  const __m128i sums = _mm_sad_epu8(biased, _mm_setzero_si128());
  const __m128i signed_sums = _mm_sub_epi16(sums, _mm_set1_epi16(8 * 128));
  return {static_cast<int16_t>(_mm_extract_epi16(signed_sums, 0)),
          static_cast<int16_t>(_mm_extract_epi16(signed_sums, 4))};
}

/// Loads once: g++ would fold the load into each of several uses, and load units limit the
/// unpacking of many codes.
inline U8x64 load_u8(const uint8_t* p) {
  __m512i x = _mm512_loadu_si512(p);
  asm("" : "+v"(x));
  return {x};
}
/// Four columns of 16 bytes as rows: byte 4r + j is byte 16j + r of memory.
inline U8x64 load_columns(const uint8_t* p) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m128i rows = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return {_mm512_shuffle_epi8(_mm512_permutexvar_epi32(order, load_u8(p).v),
                              _mm512_broadcast_i32x4(rows))};
}
inline U8x64 low_nibbles(U8x64 x) { return {_mm512_and_si512(x.v, _mm512_set1_epi8(0x0F))}; }
inline U8x64 high_nibbles(U8x64 x) { return low_nibbles({_mm512_srli_epi16(x.v, 4)}); }
/// w | (((plane >> right) << left) & mask), per byte: merges a bit plane. The shifts cross bytes;
/// the mask keeps only bits that did not.
template <int kRight, int kLeft, int kMask>
inline U8x64 or_bits(U8x64 w, U8x64 plane) {
  const __m512i moved = _mm512_slli_epi16(_mm512_srli_epi16(plane.v, kRight), kLeft);
  return {_mm512_or_si512(w.v, _mm512_and_si512(moved, _mm512_set1_epi8(kMask)))};
}

inline void store_u8(uint8_t* p, U8x64 x) { _mm512_storeu_si512(p, x.v); }
/// (x >> kRight) & kMask, per byte; kMask drops the neighbour's bits.
template <int kRight, int kMask>
inline U8x64 bits(U8x64 x) {
  static_assert(kMask <= 0xFF >> kRight);
  return {
      _mm512_and_si512(_mm512_srli_epi16(x.v, kRight), _mm512_set1_epi8(static_cast<char>(kMask)))};
}
/// Bits 3 and 7 of each byte of three vectors as bits 0, 1, 2 and 4, 5, 6.
inline U8x64 join_top_bits(U8x64 a, U8x64 b, U8x64 c) {
  return or_bits<1, 0, 0x44>(or_bits<2, 0, 0x22>(bits<3, 0x11>(a), b), c);
}
/// ((x >> right) << left) & mask, per byte, like or_bits.
template <int kRight, int kLeft, int kMask>
inline U8x64 moved_bits(U8x64 x) {
  return {_mm512_and_si512(_mm512_slli_epi16(_mm512_srli_epi16(x.v, kRight), kLeft),
                           _mm512_set1_epi8(kMask))};
}
/// Table entry (of 16) for each byte, 0..15.
inline U8x64 lookup(U8x64 codes, const Bytes16& table) {
  return {_mm512_shuffle_epi8(_mm512_broadcast_i32x4(load_16_bytes(table.v)), codes.v)};
}

/// Table entries for the low and the high nibble of each byte, all below 8.
inline TwoU8x64 lookup_nibbles(U8x64 x, const Bytes16& table) {
  // The shuffle reads the low nibble and bit 7, which is 0 in the neighbour's shifted-in bits.
  return {lookup(x, table), lookup({_mm512_srli_epi16(x.v, 4)}, table)};
}
inline U8x64 or_bytes(U8x64 a, U8x64 b) { return {_mm512_or_si512(a.v, b.v)}; }
/// Repeats the lowest byte of each lane in all four bytes.
inline U8x64 repeat_lowest_byte(I32x16 x) {
  const __m128i lowest = _mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
  return {_mm512_shuffle_epi8(x.v, _mm512_broadcast_i32x4(lowest))};
}

inline F32x16 as_f32(I32x16 x) { return {_mm512_castsi512_ps(x.v)}; }
inline I32x16 load_u8_as_i32(const uint8_t* p) { return {_mm512_cvtepu8_epi32(load_16_bytes(p))}; }
inline I32x16 broadcast_i32(int32_t x) { return {_mm512_set1_epi32(x)}; }
inline I32x16 add(I32x16 a, I32x16 b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline I32x16 bit_and(I32x16 a, I32x16 b) { return {_mm512_and_si512(a.v, b.v)}; }
/// Shifts in zeros; n is 0..31.
inline I32x16 shift_left(I32x16 x, unsigned n) { return {_mm512_slli_epi32(x.v, n)}; }
inline I32x16 shift_right(I32x16 x, unsigned n) { return {_mm512_srli_epi32(x.v, n)}; }
/// Table entry for the three lowest bits of each lane.
inline F32x16 lookup(I32x16 codes, const Floats8& table) {
  const __m512 entries = _mm512_broadcast_f32x8(_mm256_load_ps(table.v));
  return {_mm512_permutexvar_ps(codes.v, entries)};
}
inline __m512i broadcast_4_bytes(const void* a) {
  int32_t four;
  std::memcpy(&four, a, sizeof(four));
  return _mm512_set1_epi32(four);
}
/// kFactor times the totals of half a block, or of both halves, in all lanes.
template <int kFactor>
inline I32x16 times_total(__m512i totals) {
  return {_mm512_madd_epi16(totals, _mm512_set1_epi16(kFactor))};
}
template <int kFactor>
inline I32x16 times_total(const HalfTotals& half) {
  return times_total<kFactor>(broadcast_4_bytes(&half));
}
template <int kFactor>
inline I32x16 times_total(const HalfTotals& half, const HalfTotals& other) {
  return times_total<kFactor>(
      _mm512_add_epi16(broadcast_4_bytes(&half), broadcast_4_bytes(&other)));
}
/// kSet times each total whose code bit is set, kClear times the others. The first total belongs to
/// bit 0 of a lane, the last to bit 1.
template <int kClear, int kSet>
inline I32x16 choose_sums(I32x16 codes, const HalfTotals& totals) {
  const __m128i factors = _mm_setr_epi16(kClear, kClear, kSet, kClear, kClear, kSet, kSet, kSet);
  const __m512i sums =
      _mm512_madd_epi16(broadcast_4_bytes(&totals), _mm512_broadcast_i32x4(factors));
  return {_mm512_castps_si512(_mm512_permutevar_ps(_mm512_castsi512_ps(sums), codes.v))};
}
/// Half of the unsigned e4m3 numbers (quant/half.h), with 0x7f as 480: read as f16 they are 2^-8 of
/// that.
inline F32x16 load_ue4m3_half(const uint8_t* p) {
  const __m256i halves = _mm256_slli_epi16(_mm256_cvtepu8_epi16(load_16_bytes(p)), 7);
  return mul({_mm512_cvtph_ps(halves)}, broadcast(128.0f));
}

/// Vectors that DotU8 may add between settle() calls, for weights up to `largest`.
constexpr int settle_every(int) { return 4; }

/// Fixed point (kernel_fixed.h): sums of products of pairs of 16-bit integers in 16 rows. Row r
/// gains w[2r] a[0] + w[2r + 1] a[1]. Exact in int32.
struct DotS16 {
  struct Weights {
    __m512i v;
  };
  /// 16-row halves of a panel and columns of a micro-kernel, and sums of each: 16 hide the latency
  /// of 4 cycles.
  static constexpr int kHalves = 2;
  static constexpr int kColumns = 4;
  static constexpr int kChains = 2;
  __m512i s = _mm512_setzero_si512();
  void add(Weights w, const int16_t* a) { s = _mm512_dpwssd_epi32(s, w.v, broadcast_4_bytes(a)); }
  [[nodiscard]] I32x16 total() const { return {s}; }

  static Weights load(const int16_t* p) { return {_mm512_loadu_si512(p)}; }
  static void store(int16_t* p, Weights w) { _mm512_storeu_si512(p, w.v); }
  /// The nearest integers, of lanes in -32767..32767.
  static void store(int16_t* p, F32x16 x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(x.v)));
  }
  /// The low halves of the lanes of two vectors in turn: even 0, odd 0, even 1, ...
  static Weights pairs(F32x16 even, F32x16 odd) {
    const __m512i high = _mm512_slli_epi32(_mm512_castps_si512(odd.v), 16);
    return {_mm512_mask_blend_epi16(0xAAAAAAAA, _mm512_castps_si512(even.v), high)};
  }
};

/// Subtracts per byte, modulo 256.
inline U8x64 subtract(U8x64 x, int y) {
  return {_mm512_sub_epi8(x.v, _mm512_set1_epi8(static_cast<char>(y)))};
}
inline I32x16 load_i32(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
inline void store_i32(int32_t* p, I32x16 x) { _mm512_storeu_si512(p, x.v); }
inline I32x16 negative(I32x16 x) { return {_mm512_sub_epi32(_mm512_setzero_si512(), x.v)}; }

/// `start` and the sums of products of unsigned weights with signed activations, in 16 rows: row r
/// gains sum_{i<4} w[4r + i] * a[i]. Exact in int32.
struct DotU8 {
  __m512i s;
  explicit DotU8(int32_t start = 0) : s(_mm512_set1_epi32(start)) {}
  explicit DotU8(I32x16 start) : s(start.v) {}
  void add(U8x64 w, const int8_t* a) { s = _mm512_dpbusd_epi32(s, w.v, broadcast_4_bytes(a)); }
  void settle() {}
  [[nodiscard]] I32x16 total() const { return {s}; }
};

/// The dot product for weights that need all eight bits: takes w + kWideBias.
using DotWide = DotU8;
inline constexpr int kWideBias = 128;
/// Converts signed bytes for DotWide.
inline U8x64 wide_bytes(U8x64 x) {
  return {_mm512_xor_si512(x.v, _mm512_set1_epi8(static_cast<char>(0x80)))};
}

/// Accumulator of a micro-kernel over a tile: signed weights times unsigned activations.
struct TileDot {
  using Activation = uint8_t;
  __m512i s;
  TileDot() : s(_mm512_setzero_si512()) {}
  explicit TileDot(I32x16 start) : s(start.v) {}
  void add(U8x64 w, const uint8_t* a) { s = _mm512_dpbusd_epi32(s, broadcast_4_bytes(a), w.v); }
  void settle() {}
  [[nodiscard]] I32x16 total() const { return {s}; }
};
using TileDotWide = TileDot;
inline constexpr bool kTilesReadSigned = false;
inline constexpr bool kTilesReadBiased = true;
constexpr int tile_settle_every(int) { return 8; }

/// No sign tables for q1_0: see AVX2.
using SignTables = void;
/// No dot products of codes in place.
template <int kUnit>
using DotInPlace = void;

/// Columns per linear kernel call: enough independent sums to hide a latency of 4 cycles.
inline constexpr int kColumns = 8;
/// Fewest columns of a micro-kernel over a tile of one panel.
inline constexpr int kFewestColumns = 4;
/// True if there are kernels of three columns.
inline constexpr bool kThreeColumns = false;
/// Panels per tile, and columns of a micro-kernel over several panels: as many sums as eight
/// columns of one panel, but each broadcast activation serves two panels. Otherwise loads would be
/// the limit.
inline constexpr int kTilePanels = 2;
/// Values of k per tile of bytes.
inline constexpr uint32_t kByteTileDepth = 256;
inline constexpr int kTileColumns = 4;
/// Most rows multiplied while weights are unpacked: two sums per row just fit the registers.
inline constexpr int kDirectRows = 12;
/// Most rows multiplied with packed weights instead of tiles.
inline constexpr int kPackedRows = 2 * kColumns;
/// Float kernels: 8 columns x 2 registers of sums.
inline constexpr int kFloatColumns = 8;
/// Values of k per chunk of a float panel, and whether it is converted to an f32 tile in the
/// first-level cache. Eight columns share a conversion and read weights fast enough from the
/// second-level cache.
inline constexpr uint64_t kFloatDepth = 1024;
inline constexpr bool kFloatTiles = false;

/// Attention: vectors of positions x columns of the score kernels (24 sums, 2 vectors of keys, one
/// broadcast), vectors of dimensions x columns of the value kernels (24, 4, one).
inline constexpr int kAttentionVectors = 2;
inline constexpr int kAttentionColumns = 12;
inline constexpr int kValueVectors = 4;
inline constexpr int kValueColumns = 6;

}  // namespace tenon::cpu::TENON_CPU_ISA
