// The 7-bit sign codes of the iq2_xxs, iq2_xs and iq3_xxs codebook formats.
#pragma once

#include <bit>
#include <cstdint>

#include "quant/isa.h"

namespace tenon {
inline namespace TENON_QUANT_ISA {

/// 1 when an odd number of the low eight bits is set. (std::popcount is a call on the x86
/// baseline.)
constexpr uint32_t odd_bits(uint32_t bits) noexcept {
  const uint32_t folded = (bits ^ bits >> 4) & 15u;
  return 0x6996u >> folded & 1u;
}

/// Signs of eight values: bit j is set if value j is negative. Bits 0..6 are the code; the number
/// of negative values in a group is always even, which gives bit 7.
constexpr uint8_t expand_signs(uint32_t code) noexcept {
  const uint32_t low = code & 127u;
  return static_cast<uint8_t>(low | odd_bits(low) << 7);
}

/// Returns value, negated if bit j of signs is set.
constexpr float with_sign(float value, uint8_t signs, int j) noexcept {
  const uint32_t flip = static_cast<uint32_t>(signs >> j & 1) << 31;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ flip);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
