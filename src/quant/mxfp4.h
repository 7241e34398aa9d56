// Format mxfp4: 32 values of the 4-bit float e2m1 with one power-of-two scale.
#pragma once

#include <cmath>
#include <cstdint>

#include "quant/fit.h"
#include "quant/fp4.h"
#include "quant/half.h"

namespace tenon {

/// Layout (17 bytes):
///   0        1                                                      17
///   | e e8m0 | qs[16]: value j low nibble, value j + 16 high nibble |
/// value = 2^(e - 128) * kFp4Doubled[q].
/// Source: OCP Microscaling Formats 1.0, MXFP4; type 39 of the GGUF specification; pinned by
/// tests/quant/vectors_test.
struct BlockMXFP4 {
  static constexpr uint32_t kValues = 32;
  uint8_t e;
  uint8_t qs[16];
};
static_assert(sizeof(BlockMXFP4) == 17);

inline namespace TENON_QUANT_ISA {

inline void decode(const BlockMXFP4& block, float* out) noexcept {
  const float d = e8m0_half_to_f32(block.e);
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>(kFp4Doubled[block.qs[j] & 15]) * d;
    out[j + 16] = static_cast<float>(kFp4Doubled[block.qs[j] >> 4]) * d;
  }
}

/// in [32] finite. Tries the three powers of two around peak / 12 and keeps the best.
inline void encode(const float* in, BlockMXFP4& block) noexcept {
  block = {};
  const float peak = signed_peak(in, 32);
  if (!(peak < 0.0f || peak > 0.0f)) return;
  int exponent = 0;  // |peak| is in [1/2, 1) * 2^exponent
  std::frexp(peak, &exponent);
  double least = -1.0;
  for (int code = exponent + 123; code <= exponent + 125; ++code) {
    if (code < 0 || code > 252) continue;  // 12 * 2^(253 - 128) is beyond f32
    const double error = fp4_error(in, 32, e8m0_half_to_f32(static_cast<uint8_t>(code)));
    if (least < 0.0 || error < least) {
      least = error;
      block.e = static_cast<uint8_t>(code);
    }
  }
  const float step = e8m0_half_to_f32(block.e);
  for (int j = 0; j < 16; ++j) {
    const int low = nearest_fp4(in[j] / step);
    const int high = nearest_fp4(in[j + 16] / step);
    block.qs[j] = static_cast<uint8_t>(low | high << 4);
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
