// Tables for AVX2 to look up sums of four signed activations (kernel_signs.h). Included by vec.h,
// with the vector type.
#pragma once

#include "backends/cpu/kernels/vec_avx2.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Tables of the sums of four activations with all signs, indexed by codes of four signs.
struct SignTables {
  static constexpr uint64_t kBytes = 256;  ///< per 32 values of k
  /// A sum is 16 h + l with l in 0..15. For bits 0 to 3 of columns 0 | 1 of U1 quants (panels.h) a
  /// table of l and one of h, each 16 | 16 bytes, then for bits 4 to 7, then for columns 2 | 3.
  static void make(const int8_t* q, uint8_t* tables) {
    const auto each_lane = [](__m128i x) { return _mm256_broadcastsi128_si256(x); };
    // Four times each value of k in a nibble: they are four apart.
    const __m256i columns[2] = {
        _mm256_setr_epi8(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 1, 5, 9, 13, 1, 5, 9,
                         13, 1, 5, 9, 13, 1, 5, 9, 13),
        _mm256_setr_epi8(2, 6, 10, 14, 2, 6, 10, 14, 2, 6, 10, 14, 2, 6, 10, 14, 3, 7, 11, 15, 3, 7,
                         11, 15, 3, 7, 11, 15, 3, 7, 11, 15)};
    const __m256i signs =
        each_lane(_mm_setr_epi8(-1, -1, -1, -1, 1, -1, 1, -1, -1, 1, -1, 1, 1, 1, 1, 1));
    // Words 2i and 2i + 1 are the sums of the first and the last two values with signs i.
    const __m256i first_two =
        each_lane(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13));
    const __m256i last_two =
        each_lane(_mm_setr_epi8(2, 3, 2, 3, 2, 3, 2, 3, 6, 7, 6, 7, 6, 7, 6, 7));
    const __m256i eight = _mm256_set1_epi8(8);
    const __m256i low_bits = _mm256_set1_epi16(15);
    for (int part = 0; part < 4; ++part, tables += 64) {
      const __m256i x =
          _mm256_shuffle_epi8(each_lane(load_16_bytes(q + part % 2 * 16)), columns[part / 2]);
      const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), _mm256_sign_epi8(x, signs));
      const __m256i first = _mm256_shuffle_epi8(pairs, first_two);
      const __m256i codes_0 = _mm256_add_epi16(first, _mm256_shuffle_epi8(pairs, last_two));
      const __m256i codes_8 =
          _mm256_add_epi16(first, _mm256_shuffle_epi8(pairs, _mm256_or_si256(last_two, eight)));
      store_u8(tables,
               {_mm256_packus_epi16(_mm256_and_si256(codes_0, low_bits),
                                    _mm256_and_si256(codes_8, low_bits)),
                _mm256_packs_epi16(_mm256_srai_epi16(codes_0, 4), _mm256_srai_epi16(codes_8, 4))});
    }
  }
  /// Dot products of 16 rows of signs. Four l are at most 60, four h in -128..124.
  static I32x16 dots(const uint8_t* quants, const uint8_t* tables) {
    const U8x64 planes = load_u8(quants);
    const U8x64 low = low_nibbles(planes), high = high_nibbles(planes);
    const __m256i codes[4] = {low.lo, high.lo, low.hi, high.hi};
    __m256i l = _mm256_setzero_si256(), h = l;
    for (int part = 0; part < 4; ++part) {
      const U8x64 table = load_u8(tables + 64 * part);
      l = _mm256_add_epi8(l, _mm256_shuffle_epi8(table.lo, codes[part]));
      h = _mm256_add_epi8(h, _mm256_shuffle_epi8(table.hi, codes[part]));
    }
    const __m256i factors = _mm256_set1_epi16(16 << 8 | 1);
    const __m256i first = _mm256_maddubs_epi16(factors, _mm256_unpacklo_epi8(l, h));
    const __m256i last = _mm256_maddubs_epi16(factors, _mm256_unpackhi_epi8(l, h));
    // Rows 0 to 7 | 8 to 15: each sum is in two parts.
    const __m256i sums = _mm256_add_epi16(_mm256_permute2x128_si256(first, last, 0x21),
                                          _mm256_blend_epi32(first, last, 0xF0));
    return {_mm256_cvtepi16_epi32(_mm256_castsi256_si128(sums)),
            _mm256_cvtepi16_epi32(_mm256_extracti128_si256(sums, 1))};
  }
};

}  // namespace tenon::cpu::TENON_CPU_ISA
