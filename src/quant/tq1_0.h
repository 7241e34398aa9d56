// Format tq1_0: 256 ternary values, five to a byte, one f16 scale.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"

namespace tenon {

/// Layout (54 bytes):
///   0                              32                  48                  52      54
///   | qs[0..31]: values 0..159     | qs[32..47]:       | qh[4]:            | d f16 |
///   | 5 rows of 32                 | 5 rows of 16      | 4 rows of 4       |       |
/// A byte holds one ternary digit of each row of its group, as the fraction byte / 256 in base 3,
/// first row first and rounded up: digit n = floor(3 * frac(byte * 3^n / 256)).
/// value = d * (digit - 1).
/// Source: type 34 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockTQ1_0 {
  static constexpr uint32_t kValues = 256;
  uint8_t qs[48];
  uint8_t qh[4];
  uint16_t d;
};
static_assert(sizeof(BlockTQ1_0) == 54);

inline namespace TENON_QUANT_ISA {

/// One group of bytes: `rows` ternary digits of each byte, row after row; out [rows, bytes].
inline void decode_trits(const uint8_t* packed, int bytes, int rows, float d, float* out) noexcept {
  constexpr uint8_t kPowers[5] = {1, 3, 9, 27, 81};
  for (int n = 0; n < rows; ++n) {
    for (int j = 0; j < bytes; ++j) {
      const auto fraction = static_cast<uint8_t>(packed[j] * kPowers[n]);
      out[n * bytes + j] = static_cast<float>((fraction * 3 >> 8) - 1) * d;
    }
  }
}

inline void decode(const BlockTQ1_0& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  decode_trits(block.qs, 32, 5, d, out);
  decode_trits(block.qs + 32, 16, 5, d, out + 160);
  decode_trits(block.qh, 4, 4, d, out + 240);
}

/// The inverse of decode_trits: the digits as one number of five base-3 digits (missing ones 0),
/// scaled to 256ths and rounded up, so that the fraction never falls below the digit.
inline void encode_trits(const float* in, int bytes, int rows, float inverse,
                         uint8_t* packed) noexcept {
  for (int j = 0; j < bytes; ++j) {
    int number = 0;
    for (int n = 0; n < 5; ++n) {
      const int digit = n < rows ? level_of(in[n * bytes + j], 0.0f, inverse, -1, 1) + 1 : 0;
      number = 3 * number + digit;
    }
    packed[j] = static_cast<uint8_t>((number * 256 + 242) / 243);
  }
}

/// in [256] finite. The scale is searched (fit.h); ternary values are encoded exactly.
inline void encode(const float* in, BlockTQ1_0& block) noexcept {
  block.d = scale_to_f16(fit_scale<256>(in, -1, 1));
  const float inverse = inverse_step(f16_to_f32(block.d));
  encode_trits(in, 32, 5, inverse, block.qs);
  encode_trits(in + 160, 16, 5, inverse, block.qs + 32);
  encode_trits(in + 240, 4, 4, inverse, block.qh);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
