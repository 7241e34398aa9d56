// The vector type on AVX2, FMA and F16C: two 256-bit halves.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <cstring>

namespace tenon::cpu::TENON_CPU_ISA {

struct F32x16 {
  __m256 lo, hi;
};
struct I32x16 {
  __m256i lo, hi;
};
struct U8x64 {
  __m256i lo, hi;
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

inline F32x16 broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline F32x16 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(float* p, F32x16 x) {
  _mm256_storeu_ps(p, x.lo);
  _mm256_storeu_ps(p + 8, x.hi);
}
inline __m128i load_16_bytes(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
inline F32x16 load_f16(const uint16_t* p) {
  return {_mm256_cvtph_ps(load_16_bytes(p)), _mm256_cvtph_ps(load_16_bytes(p + 8))};
}
inline __m256 bf16_to_f32(__m128i x) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}
inline F32x16 load_bf16(const uint16_t* p) {
  return {bf16_to_f32(load_16_bytes(p)), bf16_to_f32(load_16_bytes(p + 8))};
}
inline void store_f16(uint16_t* p, F32x16 x) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.lo, kNearest));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(x.hi, kNearest));
}
inline F32x16 load_u8_as_f32(const uint8_t* p) {
  const __m128i x = load_16_bytes(p);
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(x)),
          _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(x, 8)))};
}
inline F32x16 load_s8_as_f32(const uint8_t* p) {
  const __m128i x = load_16_bytes(p);
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(x, 8)))};
}
/// 2 c - 15 for the codes c in the low (0) or high (1) halves of 16 bytes.
template <int kHalf>
inline F32x16 load_q4_levels(const uint8_t* p) {
  const __m128i codes =
      _mm_and_si128(_mm_srli_epi16(load_16_bytes(p), 4 * kHalf), _mm_set1_epi8(0x0F));
  const __m128i levels = _mm_shuffle_epi8(
      _mm_setr_epi8(-15, -13, -11, -9, -7, -5, -3, -1, 1, 3, 5, 7, 9, 11, 13, 15), codes);
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(levels)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(levels, 8)))};
}
inline F32x16 add(F32x16 a, F32x16 b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
inline F32x16 sub(F32x16 a, F32x16 b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
inline F32x16 mul(F32x16 a, F32x16 b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
inline F32x16 div(F32x16 a, F32x16 b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline F32x16 max(F32x16 a, F32x16 b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
// Operands swapped, so that min(NaN, b) is NaN as max(a, NaN) is.
inline F32x16 min(F32x16 a, F32x16 b) {
  return {_mm256_min_ps(b.lo, a.lo), _mm256_min_ps(b.hi, a.hi)};
}
inline F32x16 round_nearest(F32x16 a) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(a.lo, kNearest), _mm256_round_ps(a.hi, kNearest)};
}
inline F32x16 zero_where_less(F32x16 a, F32x16 b, F32x16 x) {
  return {_mm256_andnot_ps(_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), x.lo),
          _mm256_andnot_ps(_mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ), x.hi)};
}
inline __m256 power_of_two(__m256 n) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
}
/// x * 2^n for integral n in -126..127; x is NaN where n is.
inline F32x16 scale_by_power_of_two(F32x16 x, F32x16 n) {
  return {_mm256_mul_ps(x.lo, power_of_two(n.lo)), _mm256_mul_ps(x.hi, power_of_two(n.hi))};
}
/// The sum of the lanes, pairwise: lanes i and i + 8, then i + 4, i + 2, i + 1.
inline float sum(F32x16 x) {
  const __m256 a = _mm256_add_ps(x.lo, x.hi);
  const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));
}
/// Largest magnitude of the lanes; infinity or NaN if a lane is.
inline float max_magnitude(F32x16 x, F32x16 y) {
  // As integers, magnitudes order like the numbers, with infinity and NaN on top.
  const auto larger = [](__m256 p, __m256 q) {
    const __m256i mask = _mm256_set1_epi32(0x7FFFFFFF);
    return _mm256_max_epu32(_mm256_and_si256(_mm256_castps_si256(p), mask),
                            _mm256_and_si256(_mm256_castps_si256(q), mask));
  };
  const __m256i a = _mm256_max_epu32(larger(x.lo, x.hi), larger(y.lo, y.hi));
  __m128i b = _mm_max_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  b = _mm_max_epu32(b, _mm_shuffle_epi32(b, 0x4E));
  b = _mm_max_epu32(b, _mm_shuffle_epi32(b, 0xB1));
  return std::bit_cast<float>(_mm_cvtsi128_si32(b));
}
inline float max_lane(F32x16 x) {
  const __m256 a = _mm256_max_ps(x.lo, x.hi);
  const __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 c = _mm_max_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_max_ss(c, _mm_shuffle_ps(c, c, 1)));
}

inline F32x16 to_f32(I32x16 x) { return {_mm256_cvtepi32_ps(x.lo), _mm256_cvtepi32_ps(x.hi)}; }
/// Lanes must be in -127..127 (or NaN, which gives an unspecified byte).
inline void store_s8(int8_t* p, F32x16 x) {
  const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(x.lo), _mm256_cvtps_epi32(x.hi));
  const __m256i ordered = _mm256_permute4x64_epi64(words, 0xD8);
  const __m128i bytes =
      _mm_packs_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}

/// Sums of the first eight and the next eight bytes.
inline HalfTotals sums_of_8(const int8_t* p) {
  const __m128i biased = _mm_xor_si128(load_16_bytes(p), _mm_set1_epi8(static_cast<char>(0x80)));
  const __m128i sums = _mm_sad_epu8(biased, _mm_setzero_si128());
  const __m128i signed_sums = _mm_sub_epi16(sums, _mm_set1_epi16(8 * 128));
  return {static_cast<int16_t>(_mm_extract_epi16(signed_sums, 0)),
          static_cast<int16_t>(_mm_extract_epi16(signed_sums, 4))};
}

inline U8x64 load_u8(const uint8_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
}
/// Four columns of 16 bytes as rows: byte 4r + j is byte 16j + r of memory.
inline U8x64 load_columns(const uint8_t* p) {
  const U8x64 x = load_u8(p);
  const __m256i first = _mm256_unpacklo_epi8(x.lo, x.hi);  // columns 0, 2 | 1, 3 of rows 0 to 7
  const __m256i last = _mm256_unpackhi_epi8(x.lo, x.hi);
  const __m256i even = _mm256_permute2x128_si256(first, last, 0x20);  // rows 0 to 7 | 8 to 15
  const __m256i odd = _mm256_permute2x128_si256(first, last, 0x31);
  const __m256i low = _mm256_unpacklo_epi8(even, odd);  // rows 0 to 3 | 8 to 11
  const __m256i high = _mm256_unpackhi_epi8(even, odd);
  return {_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31)};
}
inline U8x64 low_nibbles(U8x64 x) {
  const __m256i mask = _mm256_set1_epi8(0x0F);
  return {_mm256_and_si256(x.lo, mask), _mm256_and_si256(x.hi, mask)};
}
inline U8x64 high_nibbles(U8x64 x) {
  return low_nibbles({_mm256_srli_epi16(x.lo, 4), _mm256_srli_epi16(x.hi, 4)});
}
template <int kRight, int kLeft, int kMask>
inline __m256i or_bits_half(__m256i w, __m256i plane) {
  const __m256i moved = _mm256_slli_epi16(_mm256_srli_epi16(plane, kRight), kLeft);
  return _mm256_or_si256(w, _mm256_and_si256(moved, _mm256_set1_epi8(kMask)));
}
/// w | (((plane >> right) << left) & mask), per byte: merges a bit plane. The shifts cross bytes;
/// the mask keeps only bits that did not.
template <int kRight, int kLeft, int kMask>
inline U8x64 or_bits(U8x64 w, U8x64 plane) {
  return {or_bits_half<kRight, kLeft, kMask>(w.lo, plane.lo),
          or_bits_half<kRight, kLeft, kMask>(w.hi, plane.hi)};
}

inline void store_u8(uint8_t* p, U8x64 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.lo);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), x.hi);
}
/// (x >> kRight) & kMask, per byte; kMask drops the neighbour's bits.
template <int kRight, int kMask>
inline U8x64 bits(U8x64 x) {
  static_assert(kMask <= 0xFF >> kRight);
  const __m256i mask = _mm256_set1_epi8(static_cast<char>(kMask));
  return {_mm256_and_si256(_mm256_srli_epi16(x.lo, kRight), mask),
          _mm256_and_si256(_mm256_srli_epi16(x.hi, kRight), mask)};
}
inline __m256i join_top_bits_half(__m256i a, __m256i b, __m256i c) {
  const __m256i top = _mm256_set1_epi8(static_cast<char>(0x88));
  // An average is a sum shifted right: three of them shift `a` by three bits.
  const __m256i first = _mm256_avg_epu8(_mm256_and_si256(a, top), _mm256_setzero_si256());
  return _mm256_avg_epu8(_mm256_avg_epu8(first, _mm256_and_si256(b, top)),
                         _mm256_and_si256(c, top));
}
/// Bits 3 and 7 of each byte of three vectors as bits 0, 1, 2 and 4, 5, 6.
inline U8x64 join_top_bits(U8x64 a, U8x64 b, U8x64 c) {
  return {join_top_bits_half(a.lo, b.lo, c.lo), join_top_bits_half(a.hi, b.hi, c.hi)};
}
/// ((x >> right) << left) & mask, per byte, like or_bits.
template <int kRight, int kLeft, int kMask>
inline U8x64 moved_bits(U8x64 x) {
  const __m256i mask = _mm256_set1_epi8(kMask);
  return {_mm256_and_si256(_mm256_slli_epi16(_mm256_srli_epi16(x.lo, kRight), kLeft), mask),
          _mm256_and_si256(_mm256_slli_epi16(_mm256_srli_epi16(x.hi, kRight), kLeft), mask)};
}
/// Table entry (of 16) for each byte, 0..15.
inline U8x64 lookup(U8x64 codes, const Bytes16& table) {
  const __m256i entries = _mm256_broadcastsi128_si256(load_16_bytes(table.v));
  return {_mm256_shuffle_epi8(entries, codes.lo), _mm256_shuffle_epi8(entries, codes.hi)};
}

/// Table entries for the low and the high nibble of each byte, all below 8.
inline TwoU8x64 lookup_nibbles(U8x64 x, const Bytes16& table) {
  // The shuffle reads the low nibble and bit 7, which is 0 in the neighbour's shifted-in bits.
  return {lookup(x, table),
          lookup({_mm256_srli_epi16(x.lo, 4), _mm256_srli_epi16(x.hi, 4)}, table)};
}
inline U8x64 or_bytes(U8x64 a, U8x64 b) {
  return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)};
}
/// Repeats the lowest byte of each lane in all four bytes.
inline U8x64 repeat_lowest_byte(I32x16 x) {
  const __m256i lowest = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0,
                                          0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
  return {_mm256_shuffle_epi8(x.lo, lowest), _mm256_shuffle_epi8(x.hi, lowest)};
}

inline F32x16 as_f32(I32x16 x) { return {_mm256_castsi256_ps(x.lo), _mm256_castsi256_ps(x.hi)}; }
inline I32x16 load_u8_as_i32(const uint8_t* p) {
  const __m128i x = load_16_bytes(p);
  return {_mm256_cvtepu8_epi32(x), _mm256_cvtepu8_epi32(_mm_srli_si128(x, 8))};
}
inline I32x16 broadcast_i32(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
inline I32x16 add(I32x16 a, I32x16 b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
inline I32x16 bit_and(I32x16 a, I32x16 b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
/// Shifts in zeros; n is 0..31.
inline I32x16 shift_left(I32x16 x, int n) {
  return {_mm256_slli_epi32(x.lo, n), _mm256_slli_epi32(x.hi, n)};
}
inline I32x16 shift_right(I32x16 x, int n) {
  return {_mm256_srli_epi32(x.lo, n), _mm256_srli_epi32(x.hi, n)};
}
/// Table entry for the three lowest bits of each lane.
inline F32x16 lookup(I32x16 codes, const Floats8& table) {
  const __m256 entries = _mm256_load_ps(table.v);
  return {_mm256_permutevar8x32_ps(entries, codes.lo), _mm256_permutevar8x32_ps(entries, codes.hi)};
}
inline __m256i broadcast_4_bytes(const void* a) {
  int32_t four;
  std::memcpy(&four, a, sizeof(four));
  return _mm256_set1_epi32(four);
}
/// kFactor times the totals of half a block, or of both halves, in all lanes.
template <int kFactor>
inline I32x16 times_total(__m256i totals) {
  const __m256i product = _mm256_madd_epi16(totals, _mm256_set1_epi16(kFactor));
  return {product, product};
}
template <int kFactor>
inline I32x16 times_total(const HalfTotals& half) {
  return times_total<kFactor>(broadcast_4_bytes(&half));
}
template <int kFactor>
inline I32x16 times_total(const HalfTotals& half, const HalfTotals& other) {
  return times_total<kFactor>(
      _mm256_add_epi16(broadcast_4_bytes(&half), broadcast_4_bytes(&other)));
}
/// kSet times each total whose code bit is set, kClear times the others. The first total belongs to
/// bit 0 of a lane, the last to bit 1.
template <int kClear, int kSet>
inline I32x16 choose_sums(I32x16 codes, const HalfTotals& totals) {
  const __m256i factors = _mm256_setr_epi16(kClear, kClear, kSet, kClear, kClear, kSet, kSet, kSet,
                                            kClear, kClear, kSet, kClear, kClear, kSet, kSet, kSet);
  const __m256 sums = _mm256_castsi256_ps(_mm256_madd_epi16(broadcast_4_bytes(&totals), factors));
  return {_mm256_castps_si256(_mm256_permutevar_ps(sums, codes.lo)),
          _mm256_castps_si256(_mm256_permutevar_ps(sums, codes.hi))};
}
/// Half of the unsigned e4m3 numbers (quant/half.h), with 0x7f as 480: read as f16 they are 2^-8 of
/// that.
inline F32x16 load_ue4m3_half(const uint8_t* p) {
  const __m256i halves = _mm256_slli_epi16(_mm256_cvtepu8_epi16(load_16_bytes(p)), 7);
  const F32x16 x = {_mm256_cvtph_ps(_mm256_castsi256_si128(halves)),
                    _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
  return mul(x, broadcast(128.0f));
}

/// Subtracts per byte, modulo 256.
inline U8x64 subtract(U8x64 x, int y) {
  const __m256i bytes = _mm256_set1_epi8(static_cast<char>(y));
  return {_mm256_sub_epi8(x.lo, bytes), _mm256_sub_epi8(x.hi, bytes)};
}
inline I32x16 load_i32(const int32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
inline void store_i32(int32_t* p, I32x16 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.lo);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), x.hi);
}
inline I32x16 negative(I32x16 x) {
  const __m256i zero = _mm256_setzero_si256();
  return {_mm256_sub_epi32(zero, x.lo), _mm256_sub_epi32(zero, x.hi)};
}

/// Columns per linear kernel call: 4 columns x 2 halves of int16 sums, weights and broadcast
/// activations fit the 16 registers.
inline constexpr int kColumns = 4;
/// Fewest columns of a micro-kernel over a tile.
inline constexpr int kFewestColumns = 1;
/// True if there are kernels of three columns.
inline constexpr bool kThreeColumns = true;
/// Panels per tile: two would need twice the registers.
inline constexpr int kTilePanels = 1;
/// Values of k per tile of bytes: half of a first-level cache, since each pass over a tile also
/// reads and writes results.
inline constexpr uint32_t kByteTileDepth = 512;
inline constexpr int kTileColumns = kColumns;
/// Most rows multiplied while weights are unpacked.
inline constexpr int kDirectRows = kColumns;
/// Most rows multiplied with packed weights instead of tiles, in two passes. Without AVX-VNNI only
/// weights that unpack fast are.
inline constexpr int kPackedRows = 2 * kDirectRows;
/// Float kernels: 3 columns x 4 registers of sums + 4 of weights.
inline constexpr int kFloatColumns = 3;
/// Values of k per chunk of a float panel, converted to an f32 tile in the first-level cache,
/// because so few columns would repeat the conversion.
inline constexpr uint64_t kFloatDepth = 256;
inline constexpr bool kFloatTiles = true;

/// Attention: vectors of positions (of dimensions) x columns: 12 registers of sums, 2 of keys
/// (values), one broadcast.
inline constexpr int kAttentionVectors = 1;
inline constexpr int kAttentionColumns = 6;
inline constexpr int kValueVectors = 1;
inline constexpr int kValueColumns = 6;

}  // namespace tenon::cpu::TENON_CPU_ISA
