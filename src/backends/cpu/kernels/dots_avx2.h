// Dot products of bytes on AVX2, with AVX-VNNI where the including file is compiled for it.
// Included by vec.h, with the vector type.
#pragma once

#include "backends/cpu/kernels/vec_avx2.h"

namespace tenon::cpu::TENON_CPU_ISA {

#if defined(__AVXVNNI__)
/// `start` and the sums of products of unsigned with signed bytes in 16 rows. Exact in int32.
struct WideSums {
  I32x16 s;
  explicit WideSums(I32x16 start) : s(start) {}
  void settle() {}
  [[nodiscard]] I32x16 total() const { return s; }
};

/// Unsigned weights and signed activations: row r gains sum_{i<4} w[4r + i] * a[i].
struct DotU8 : WideSums {
  explicit DotU8(int32_t start = 0) : WideSums(broadcast_i32(start)) {}
  explicit DotU8(I32x16 start) : WideSums(start) {}
  void add(U8x64 w, const int8_t* a) {
    const __m256i x = broadcast_4_bytes(a);
    s.lo = _mm256_dpbusd_avx_epi32(s.lo, w.lo, x);
    s.hi = _mm256_dpbusd_avx_epi32(s.hi, w.hi, x);
  }
};
constexpr int settle_every(int) { return 8; }
/// Moving codes costs less than separate sums.
template <int kUnit>
using DotInPlace = void;

/// The dot product for weights that need all eight bits: takes w + kWideBias.
using DotWide = DotU8;
inline constexpr int kWideBias = 128;
/// Converts signed bytes for DotWide.
inline U8x64 wide_bytes(U8x64 x) {
  const __m256i signs = _mm256_set1_epi8(static_cast<char>(0x80));
  return {_mm256_xor_si256(x.lo, signs), _mm256_xor_si256(x.hi, signs)};
}

/// Accumulator of a micro-kernel over a tile: signed weights times unsigned activations.
struct TileDot : WideSums {
  using Activation = uint8_t;
  explicit TileDot(I32x16 start = broadcast_i32(0)) : WideSums(start) {}
  void add(U8x64 w, const uint8_t* a) {
    const __m256i x = broadcast_4_bytes(a);
    s.lo = _mm256_dpbusd_avx_epi32(s.lo, x, w.lo);
    s.hi = _mm256_dpbusd_avx_epi32(s.hi, x, w.hi);
  }
};
using TileDotWide = TileDot;
inline constexpr bool kTilesReadSigned = false;
inline constexpr bool kTilesReadBiased = true;
constexpr int tile_settle_every(int) { return 8; }

/// Fixed point (kernel_fixed.h): sums of products of pairs of 16-bit integers in 16 rows. Row r
/// gains w[2r] a[0] + w[2r + 1] a[1]. Exact in int32.
struct DotS16 {
  using Weights = U8x64;
  /// 16-row halves of a panel and columns of a micro-kernel, and sums of each: 8 registers.
  static constexpr int kHalves = 1;
  static constexpr int kColumns = 4;
  static constexpr int kChains = 1;
  I32x16 s = broadcast_i32(0);
  void add(Weights w, const int16_t* a) {
    const __m256i x = broadcast_4_bytes(a);
    s.lo = _mm256_dpwssd_avx_epi32(s.lo, w.lo, x);
    s.hi = _mm256_dpwssd_avx_epi32(s.hi, w.hi, x);
  }
  [[nodiscard]] I32x16 total() const { return s; }

  static Weights load(const int16_t* p) { return load_u8(reinterpret_cast<const uint8_t*>(p)); }
  static void store(int16_t* p, Weights w) { store_u8(reinterpret_cast<uint8_t*>(p), w); }
  /// The nearest integers, of lanes in -32767..32767.
  static void store(int16_t* p, F32x16 x) {
    const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(x.lo), _mm256_cvtps_epi32(x.hi));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(words, 0xD8));
  }
  /// The low halves of the lanes of two vectors in turn: even 0, odd 0, even 1, ...
  static Weights pairs(F32x16 even, F32x16 odd) {
    const auto in_turn = [](__m256 a, __m256 b) {
      return _mm256_blend_epi16(_mm256_castps_si256(a),
                                _mm256_slli_epi32(_mm256_castps_si256(b), 16), 0xAA);
    };
    return {in_turn(even.lo, odd.lo), in_turn(even.hi, odd.hi)};
  }
};
#else
/// Fixed point gains nothing over f32 without these products.
using DotS16 = void;

/// Keeps additions to a sum in the order of the program. Compilers would otherwise take a chain of
/// them apart, with all products of a block in memory until then.
inline void keep_order(__m256i& sum) { asm("" : "+x"(sum)); }
inline void add_in_order(__m256i& sum, __m256i x) {
  sum = _mm256_add_epi16(sum, x);
  keep_order(sum);
}

/// Sums of pairs of products, collected in int16 and widened by settle(), which must be called
/// before a sum can pass 32767.
struct NarrowSums {
  __m256i lo16 = _mm256_setzero_si256(), hi16 = _mm256_setzero_si256();
  I32x16 s;
  explicit NarrowSums(I32x16 start) : s(start) {}
  void add(__m256i lo, __m256i hi) {
    add_in_order(lo16, lo);
    add_in_order(hi16, hi);
  }
  void settle() {
    const __m256i ones = _mm256_set1_epi16(1);
    s.lo = _mm256_add_epi32(s.lo, _mm256_madd_epi16(lo16, ones));
    s.hi = _mm256_add_epi32(s.hi, _mm256_madd_epi16(hi16, ones));
    lo16 = hi16 = _mm256_setzero_si256();
  }
  [[nodiscard]] I32x16 total() const { return s; }
};
/// Sums of two products, each at most `product`, that fit int16: 1, 2, 4 or 8.
constexpr int narrow_adds(int product) {
  const int adds = 32767 / (2 * product);
  return adds >= 8 ? 8 : adds >= 4 ? 4 : adds >= 2 ? 2 : 1;
}

/// `start` and the sums of products of unsigned weights with signed activations, in 16 rows: row r
/// gains sum_{i<4} w[4r + i] * a[i]. settle() after every settle_every(largest weight) adds.
struct DotU8 : NarrowSums {
  explicit DotU8(int32_t start = 0) : NarrowSums(broadcast_i32(start)) {}
  explicit DotU8(I32x16 start) : NarrowSums(start) {}
  void add(U8x64 w, const int8_t* a) {
    const __m256i x = broadcast_4_bytes(a);
    NarrowSums::add(_mm256_maddubs_epi16(w.lo, x), _mm256_maddubs_epi16(w.hi, x));
  }
};
constexpr int settle_every(int largest) { return narrow_adds(largest * 127); }

/// Accumulates signed weights times signed activations: |w| times a with the sign of w. 128 * 127 *
/// 2 fits int16 once.
struct DotS8 {
  using Activation = int8_t;
  I32x16 s;
  explicit DotS8(int32_t start = 0) : s(broadcast_i32(start)) {}
  explicit DotS8(I32x16 start) : s(start) {}
  static __m256i product(__m256i w, __m256i x) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
  void add(U8x64 w, const int8_t* a) {
    const __m256i x = broadcast_4_bytes(a);
    s.lo = _mm256_add_epi32(s.lo, product(w.lo, x));
    s.hi = _mm256_add_epi32(s.hi, product(w.hi, x));
    keep_order(s.lo);
    keep_order(s.hi);
  }
  void settle() {}
  [[nodiscard]] I32x16 total() const { return s; }
};

/// Accumulates two-bit codes that stand for kUnit each. Codes that come multiplied by four have
/// their own sums.
template <int kUnit>
struct DotInPlace : NarrowSums {
  __m256i lo_four = _mm256_setzero_si256(), hi_four = _mm256_setzero_si256();
  explicit DotInPlace(I32x16 start = broadcast_i32(0)) : NarrowSums(start) {}
  void settle() {}
  template <bool kFourTimes>
  void add(U8x64 w, const int8_t* a) {
    const __m256i x = broadcast_4_bytes(a);
    __m256i& lo = kFourTimes ? lo_four : lo16;
    __m256i& hi = kFourTimes ? hi_four : hi16;
    lo = _mm256_add_epi16(lo, _mm256_maddubs_epi16(w.lo, x));
    hi = _mm256_add_epi16(hi, _mm256_maddubs_epi16(w.hi, x));
  }
  [[nodiscard]] I32x16 total() const {
    const auto with = [](__m256i sum, __m256i codes, __m256i four) {
      const __m256i all = _mm256_add_epi16(codes, _mm256_srai_epi16(four, 2));
      return _mm256_add_epi32(sum, _mm256_madd_epi16(all, _mm256_set1_epi16(kUnit)));
    };
    return {with(s.lo, lo16, lo_four), with(s.hi, hi16, hi_four)};
  }
};

/// The dot product for weights that need all eight bits: takes w + kWideBias.
using DotWide = DotS8;
inline constexpr int kWideBias = 0;
/// Converts signed bytes for DotWide.
inline U8x64 wide_bytes(U8x64 x) { return x; }

/// Accumulator of a micro-kernel over a tile: signed weights times unsigned activations q + 128, in
/// int16. Sums wrap: a part of a block needs only a result that fits, weights times q, if it
/// begins with minus 128 times the sum of its weights.
struct TileDot {
  using Activation = uint8_t;
  /// Start of a part.
  struct Start {
    __m256i lo = _mm256_setzero_si256(), hi = _mm256_setzero_si256();
    void add(U8x64 w) {
      const __m256i x = _mm256_set1_epi8(static_cast<char>(0x80));
      lo = _mm256_sub_epi16(lo, _mm256_maddubs_epi16(x, w.lo));
      hi = _mm256_sub_epi16(hi, _mm256_maddubs_epi16(x, w.hi));
    }
    void store(int32_t* p) const { store_i32(p, {lo, hi}); }
  };
  __m256i lo, hi;
  explicit TileDot(I32x16 start = broadcast_i32(0)) : lo(start.lo), hi(start.hi) {}
  void add(U8x64 w, const uint8_t* a) {
    const __m256i x = broadcast_4_bytes(a);
    add_in_order(lo, _mm256_maddubs_epi16(x, w.lo));
    add_in_order(hi, _mm256_maddubs_epi16(x, w.hi));
  }
  [[nodiscard]] I32x16 total() const {
    const __m256i ones = _mm256_set1_epi16(1);
    return {_mm256_madd_epi16(lo, ones), _mm256_madd_epi16(hi, ones)};
  }
};
/// Additions to a part of a block whose weights are up to `largest`.
constexpr int tile_settle_every(int largest) { return narrow_adds(largest * 127); }
using TileDotWide = DotS8;
inline constexpr bool kTilesReadSigned = true;
inline constexpr bool kTilesReadBiased = true;
#endif

}  // namespace tenon::cpu::TENON_CPU_ISA
