// The packing of eight 6-bit scales and eight 6-bit minima in 12 bytes that q4_K and q5_K share.
#pragma once

#include <cstdint>

#include "quant/isa.h"

namespace tenon {
inline namespace TENON_QUANT_ISA {

/// The scale and the minimum of one sub-block, each 0..63.
struct KScale {
  int scale;
  int minimum;
};

/// Reads sub-block s (0..7) of packed[12]:
///   bytes 0..3   scale s (bits 0..5),    high bits of scale s + 4 (bits 6, 7)
///   bytes 4..7   minimum s (bits 0..5),  high bits of minimum s + 4 (bits 6, 7)
///   bytes 8..11  low nibble of scale s + 4 (bits 0..3), of minimum s + 4 (bits 4..7)
constexpr KScale read_k_scale(const uint8_t* packed, int s) noexcept {
  if (s < 4) return {packed[s] & 63, packed[s + 4] & 63};
  return {(packed[s + 4] & 15) | packed[s - 4] >> 6 << 4, packed[s + 4] >> 4 | packed[s] >> 6 << 4};
}

/// Writes all eight sub-blocks; the inverse of read_k_scale.
constexpr void write_k_scales(const KScale* in, uint8_t* packed) noexcept {
  for (int s = 0; s < 4; ++s) {
    packed[s] = static_cast<uint8_t>(in[s].scale | in[s + 4].scale >> 4 << 6);
    packed[s + 4] = static_cast<uint8_t>(in[s].minimum | in[s + 4].minimum >> 4 << 6);
    packed[s + 8] = static_cast<uint8_t>((in[s + 4].scale & 15) | (in[s + 4].minimum & 15) << 4);
  }
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
