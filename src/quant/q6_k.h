// Format q6_K: 256 values in 16 sub-blocks of 16 with signed 8-bit scales, 6-bit values centred on
// 32.
#pragma once

#include <cstdint>

#include "quant/fit.h"
#include "quant/half.h"
#include "quant/k_fit.h"

namespace tenon {

/// Layout (210 bytes):
///   0                  128               192                208     210
///   | ql[128]: low 4 b | qh[64]: high 2 b | scales[16]: i8  | d f16 |
/// Each half of 128 values takes 64 bytes of ql and 32 of qh: value 32 * k + l of the half (k 0..3,
/// l 0..31) has its low bits in the low (k < 2) or high nibble of ql[32 * (k % 2) + l] and its high
/// bits in bits 2k and 2k + 1 of qh[l].
/// value = d * scale * (q - 32), products from left to right.
/// Source: type 14 of the GGUF specification; pinned by tests/quant/vectors_test.
struct BlockQ6_K {
  static constexpr uint32_t kValues = 256;
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint16_t d;
};
static_assert(sizeof(BlockQ6_K) == 210);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockQ6_K& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (int s = 0; s < 16; ++s) {
    const float scale = d * static_cast<float>(block.scales[s]);
    const int half = s / 8;
    const int k = s % 8 / 2;
    const uint8_t* ql = block.ql + 64 * half + 32 * (k % 2) + s % 2 * 16;
    const uint8_t* qh = block.qh + 32 * half + s % 2 * 16;
    for (int l = 0; l < 16; ++l) {
      const int q = (ql[l] >> (k / 2 * 4) & 15) | (qh[l] >> (2 * k) & 3) << 4;
      out[16 * s + l] = scale * static_cast<float>(q - 32);
    }
  }
}

/// in [256] finite. Scales are searched (k_fit.h).
template <typename Weights = EvenWeights>
void encode(const float* in, BlockQ6_K& block, Weights weights = {}) noexcept {
  int scales[16];
  block = {};
  block.d = fit_k_scales<16, 16>(in, -32, 31, -128, scales, weights);
  const float d = f16_to_f32(block.d);
  for (int s = 0; s < 16; ++s) {
    block.scales[s] = static_cast<int8_t>(scales[s]);
    const float inverse = inverse_step(d * static_cast<float>(scales[s]));
    const int half = s / 8;
    const int k = s % 8 / 2;
    uint8_t* ql = block.ql + 64 * half + 32 * (k % 2) + s % 2 * 16;
    uint8_t* qh = block.qh + 32 * half + s % 2 * 16;
    for (int l = 0; l < 16; ++l) {
      const int q = level_of(in[16 * s + l], 0.0f, inverse, -32, 31) + 32;
      ql[l] |= static_cast<uint8_t>((q & 15) << (k / 2 * 4));
      qh[l] |= static_cast<uint8_t>(q >> 4 << (2 * k));
    }
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
