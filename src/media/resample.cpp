#include "media/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/checked.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define TENON_MEDIA_AVX2 1
#else
#define TENON_MEDIA_AVX2 0
#endif

namespace tenon::media {
namespace {

/// Fraction bits of a weight: 32 less the 8 of a byte and 2 for sums beyond 1.
constexpr int kWeightBits = 22;
/// A weight is high * 2^11 + low, so that both fit 16 bits and products add up in pairs.
constexpr int kLowBits = 11;
/// Taps are padded to a multiple of this with zero weights.
constexpr uint64_t kTapGroup = 4;

double triangle(double t) {
  t = std::abs(t);
  return t < 1 ? 1 - t : 0;
}

double cubic(double t) {
  t = std::abs(t);
  if (t < 1) return (1.5 * t - 2.5) * t * t + 1;
  if (t < 2) return (((t - 5) * t + 8) * t - 4) * -0.5;
  return 0;
}

double sinc(double t) {
  if (t == 0) return 1;
  t *= std::numbers::pi;
  return std::sin(t) / t;
}

double lanczos(double t) { return t >= -3 && t < 3 ? sinc(t) * sinc(t / 3) : 0; }

double weight_at(Filter filter, double t) {
  switch (filter) {
    case Filter::Bilinear:
      return triangle(t);
    case Filter::Bicubic:
      return cubic(t);
    case Filter::Lanczos:
      break;
  }
  return lanczos(t);
}

double radius_of(Filter filter) {
  return filter == Filter::Bilinear ? 1 : filter == Filter::Bicubic ? 2 : 3;
}

/// Weights of one dimension: output i is the sum of `taps` inputs from first[i] on. The halves of a
/// weight are kept apart, [outputs, taps] each.
class Taps {
 public:
  Taps(const std::shared_ptr<System>& system, uint64_t in, uint64_t out, Filter filter) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    const double stretch = std::max(scale, 1.0);
    const double support = radius_of(filter) * stretch;
    const auto most = static_cast<uint64_t>(std::ceil(support)) * 2 + 1;
    taps_ = (std::min(most, in) + kTapGroup - 1) / kTapGroup * kTapGroup;
    first_ = Buffer(system, out * sizeof(uint32_t), "positions of a resize");
    weights_ = Buffer(system, checked_mul(out, taps_ * 2 * sizeof(int16_t), "weights of a resize"),
                      "weights of a resize");
    const Buffer exact(system, taps_ * sizeof(double), "weights of a resize");
    auto* weights = reinterpret_cast<double*>(exact.data());
    std::memset(weights_.data(), 0, weights_.size());
    for (uint64_t i = 0; i < out; ++i) {
      const double centre = (static_cast<double>(i) + 0.5) * scale;
      const auto begin = static_cast<int64_t>(std::max(centre - support + 0.5, 0.0));
      const auto end =
          static_cast<int64_t>(std::min(centre + support + 0.5, static_cast<double>(in)));
      double sum = 0;
      for (int64_t k = begin; k < end; ++k) {
        const double w =
            weight_at(filter, (static_cast<double>(k) - centre + 0.5) * (1.0 / stretch));
        weights[k - begin] = w;
        sum += w;
      }
      for (int64_t k = begin; k < end; ++k) {
        const double w = sum == 0 ? weights[k - begin] : weights[k - begin] / sum;
        const auto fixed = static_cast<int32_t>((w < 0 ? -0.5 : 0.5) + w * (1 << kWeightBits));
        high(i)[k - begin] = static_cast<int16_t>(fixed >> kLowBits);
        low(i)[k - begin] = static_cast<int16_t>(fixed & ((1 << kLowBits) - 1));
      }
      reinterpret_cast<uint32_t*>(first_.data())[i] = static_cast<uint32_t>(begin);
      last_ = std::max(last_, static_cast<uint64_t>(begin) + taps_);
    }
  }

  [[nodiscard]] uint64_t count() const { return taps_; }
  [[nodiscard]] uint64_t first(uint64_t i) const {
    return reinterpret_cast<const uint32_t*>(first_.data())[i];
  }
  /// One past the last input that padded taps name; may be beyond the inputs.
  [[nodiscard]] uint64_t last() const { return last_; }
  [[nodiscard]] int16_t* high(uint64_t i) const {
    return reinterpret_cast<int16_t*>(weights_.data()) + i * taps_ * 2;
  }
  [[nodiscard]] int16_t* low(uint64_t i) const { return high(i) + taps_; }
  [[nodiscard]] int32_t weight(uint64_t i, uint64_t k) const {
    return high(i)[k] * (1 << kLowBits) + low(i)[k];
  }

 private:
  uint64_t taps_ = 0;
  uint64_t last_ = 0;
  Buffer first_;
  Buffer weights_;
};

uint8_t to_byte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

void across_portable(const Taps& taps, const uint8_t* row, uint64_t in, uint64_t out, uint8_t* to) {
  for (uint64_t x = 0; x < out; ++x) {
    const uint64_t first = taps.first(x);
    const uint64_t count = std::min(taps.count(), in - first);
    int32_t r = kHalf;
    int32_t g = kHalf;
    int32_t b = kHalf;
    for (uint64_t k = 0; k < count; ++k) {
      const uint8_t* pixel = row + 3 * (first + k);
      const int32_t weight = taps.weight(x, k);
      r += pixel[0] * weight;
      g += pixel[1] * weight;
      b += pixel[2] * weight;
    }
    to[3 * x] = to_byte(r);
    to[3 * x + 1] = to_byte(g);
    to[3 * x + 2] = to_byte(b);
  }
}

/// Columns from `begin` on of output row y.
void down_portable(const Taps& taps, RgbView from, uint64_t y, uint64_t begin, uint8_t* to) {
  const uint64_t first = taps.first(y);
  const uint64_t count = std::min(taps.count(), from.size.height - first);
  for (uint64_t x = begin; x < from.size.width * 3; ++x) {
    int32_t sum = kHalf;
    for (uint64_t k = 0; k < count; ++k) {
      sum += from.data[(first + k) * from.stride + x] * taps.weight(y, k);
    }
    to[x] = to_byte(sum);
  }
}

#if TENON_MEDIA_AVX2

/// Rows that share the loads of weights.
constexpr uint64_t kRowsTogether = 4;

/// Sums of both halves of the weights as sums of whole ones.
__attribute__((target("avx2"))) __m128i whole_sums(__m256i high, __m256i low) {
  const __m256i sums = _mm256_add_epi32(_mm256_slli_epi32(high, kLowBits), low);
  const __m128i sum =
      _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  return _mm_srai_epi32(_mm_add_epi32(sum, _mm_set1_epi32(kHalf)), kWeightBits);
}

/// Four rows at once. Reads 16 bytes from each group of taps on: rows are readable that far.
__attribute__((target("avx2"))) void across_avx2(const Taps& taps, const uint8_t* const* rows,
                                                 uint64_t out, uint8_t* const* to) {
  // Bytes of pixels 0 and 1 in the lower lane, of 2 and 3 in the upper one, as pairs of 16 bits.
  const __m256i pairs =
      _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, 6, -1, 9, -1, 7,
                       -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const __m256i spread = _mm256_setr_epi8(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6,
                                          7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
  const uint64_t count = taps.count();
  for (uint64_t x = 0; x < out; ++x) {
    const uint64_t first = 3 * taps.first(x);
    const int16_t* high = taps.high(x);
    const int16_t* low = taps.low(x);
    __m256i highs[kRowsTogether] = {_mm256_setzero_si256(), _mm256_setzero_si256(),
                                    _mm256_setzero_si256(), _mm256_setzero_si256()};
    __m256i lows[kRowsTogether] = {_mm256_setzero_si256(), _mm256_setzero_si256(),
                                   _mm256_setzero_si256(), _mm256_setzero_si256()};
    for (uint64_t k = 0; k < count; k += kTapGroup) {
      long long high4 = 0;
      long long low4 = 0;
      std::memcpy(&high4, high + k, sizeof high4);
      std::memcpy(&low4, low + k, sizeof low4);
      const __m256i high_pairs = _mm256_shuffle_epi8(_mm256_set1_epi64x(high4), spread);
      const __m256i low_pairs = _mm256_shuffle_epi8(_mm256_set1_epi64x(low4), spread);
#pragma GCC unroll 4
      for (uint64_t i = 0; i < kRowsTogether; ++i) {
        const __m128i bytes =
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[i] + first + 3 * k));
        const __m256i values = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), pairs);
        highs[i] = _mm256_add_epi32(highs[i], _mm256_madd_epi16(values, high_pairs));
        lows[i] = _mm256_add_epi32(lows[i], _mm256_madd_epi16(values, low_pairs));
      }
    }
    const __m128i first_two =
        _mm_packs_epi32(whole_sums(highs[0], lows[0]), whole_sums(highs[1], lows[1]));
    const __m128i last_two =
        _mm_packs_epi32(whole_sums(highs[2], lows[2]), whole_sums(highs[3], lows[3]));
    uint8_t bytes[16];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes), _mm_packus_epi16(first_two, last_two));
    for (uint64_t i = 0; i < kRowsTogether; ++i) std::memcpy(to[i] + 3 * x, bytes + 4 * i, 3);
  }
}

/// Output row y up to the last whole 16 columns; returns where it ends. An odd number of rows is
/// filled up with the last one at weight zero.
__attribute__((target("avx2"))) uint64_t down_avx2(const Taps& taps, RgbView from, uint64_t y,
                                                   uint8_t* to) {
  const uint64_t columns = from.size.width * 3 / 16 * 16;
  const uint64_t first = taps.first(y);
  const uint64_t count = std::min(taps.count(), from.size.height - first);
  const int16_t* high = taps.high(y);
  const int16_t* low = taps.low(y);
  const __m256i half = _mm256_set1_epi32(kHalf);
  for (uint64_t x = 0; x < columns; x += 16) {
    __m256i highs[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    __m256i lows[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    const uint8_t* above = from.data + first * from.stride + x;
    for (uint64_t k = 0; k < count; k += 2) {
      const bool is_single = k + 1 == count;  // beyond it weights are zero, but rows may end
      const uint8_t* below = is_single ? above : above + from.stride;
      int32_t high2 = 0;
      int32_t low2 = 0;
      std::memcpy(&high2, high + k, sizeof high2);
      std::memcpy(&low2, low + k, sizeof low2);
      const __m256i high_pairs = _mm256_set1_epi32(high2);
      const __m256i low_pairs = _mm256_set1_epi32(low2);
      const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(above));
      const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(below));
      const __m256i values[2] = {_mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)),
                                 _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b))};
      for (int i = 0; i < 2; ++i) {
        highs[i] = _mm256_add_epi32(highs[i], _mm256_madd_epi16(values[i], high_pairs));
        lows[i] = _mm256_add_epi32(lows[i], _mm256_madd_epi16(values[i], low_pairs));
      }
      above += 2 * from.stride;
    }
    __m256i sums[2];
    for (int i = 0; i < 2; ++i) {
      sums[i] = _mm256_add_epi32(_mm256_slli_epi32(highs[i], kLowBits), lows[i]);
      sums[i] = _mm256_srai_epi32(_mm256_add_epi32(sums[i], half), kWeightBits);
    }
    // Packing works within lanes: [s0 lower, s1 lower, s0 upper, s1 upper], then quarters in order.
    const __m256i words =
        _mm256_permute4x64_epi64(_mm256_packs_epi32(sums[0], sums[1]), 0b11'01'10'00);
    const __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + x), bytes);
  }
  return columns;
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

void all_across_avx2(const std::shared_ptr<System>& system, const Taps& taps, RgbView from,
                     RgbPicture& to) {
  // Rows near the end of the picture are read beyond it, so they are copied.
  const uint64_t read_bytes = 3 * taps.last() + 16;
  const uint64_t row_bytes = from.size.width * 3;
  const uint64_t end = (from.size.height - 1) * from.stride + row_bytes;
  const Buffer copies(system, kRowsTogether * read_bytes, "rows of a resize");
  auto* copy = reinterpret_cast<uint8_t*>(copies.data());
  std::memset(copy, 0, copies.size());
  for (uint64_t y = 0; y < from.size.height; y += kRowsTogether) {
    const uint8_t* rows[kRowsTogether];
    uint8_t* into[kRowsTogether];
    for (uint64_t i = 0; i < kRowsTogether; ++i) {
      const uint64_t at = std::min(y + i, from.size.height - 1);
      rows[i] = from.data + at * from.stride;
      into[i] = to.row(at);
      if (at * from.stride + read_bytes > end) {
        std::memcpy(copy + i * read_bytes, rows[i], row_bytes);
        rows[i] = copy + i * read_bytes;
      }
    }
    across_avx2(taps, rows, to.size().width, into);
  }
}

#endif  // TENON_MEDIA_AVX2

RgbPicture across(const std::shared_ptr<System>& system, RgbView from, uint64_t width,
                  Filter filter, Kernels kernels) {
  const Taps taps(system, from.size.width, width, filter);
  RgbPicture to(system, {width, from.size.height});
#if TENON_MEDIA_AVX2
  if (kernels == Kernels::Best && has_avx2()) {
    all_across_avx2(system, taps, from, to);
    return to;
  }
#else
  (void)kernels;
#endif
  for (uint64_t y = 0; y < from.size.height; ++y) {
    across_portable(taps, from.data + y * from.stride, from.size.width, width, to.row(y));
  }
  return to;
}

RgbPicture down(const std::shared_ptr<System>& system, RgbView from, uint64_t height, Filter filter,
                Kernels kernels) {
  const Taps taps(system, from.size.height, height, filter);
  RgbPicture to(system, {from.size.width, height});
  for (uint64_t y = 0; y < height; ++y) {
    uint64_t done = 0;
#if TENON_MEDIA_AVX2
    if (kernels == Kernels::Best && has_avx2()) done = down_avx2(taps, from, y, to.row(y));
#else
    (void)kernels;
#endif
    down_portable(taps, from, y, done, to.row(y));
  }
  return to;
}

}  // namespace

RgbPicture resize(const std::shared_ptr<System>& system, RgbView picture, Size size, Filter filter,
                  Kernels kernels) {
  check_picture_size(picture.size);
  check_picture_size(size);
  RgbPicture wide;
  if (size.width != picture.size.width) {
    wide = across(system, picture, size.width, filter, kernels);
    if (size.height == picture.size.height) return wide;
    picture = wide.view();
  }
  if (size.height != picture.size.height) {
    return down(system, picture, size.height, filter, kernels);
  }
  RgbPicture copy(system, size);
  for (uint64_t y = 0; y < size.height; ++y) {
    std::memcpy(copy.row(y), picture.data + y * picture.stride, size.width * 3);
  }
  return copy;
}

}  // namespace tenon::media
