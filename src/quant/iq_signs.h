// The 7-bit sign codes of the iq2_xxs, iq2_xs and iq3_xxs codebook formats.
#pragma once

#include <bit>
#include <cstdint>

#include "quant/isa.h"

namespace tenon {
inline namespace TENON_QUANT_ISA {

/// Signs of eight values, bit j set where value j is negative. Bits 0..6 are the code; the number
/// of negative values in a group is always even, which gives bit 7.
constexpr uint8_t expand_signs(uint32_t code) noexcept {
  const uint32_t low = code & 127u;
  return static_cast<uint8_t>(low | (static_cast<uint32_t>(std::popcount(low)) & 1u) << 7);
}

/// value, negated where bit j of signs is set; the factor keeps a zero's sign as files' tools do.
constexpr float with_sign(float value, uint8_t signs, int j) noexcept {
  return value * ((signs >> j & 1) != 0 ? -1.0f : 1.0f);
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
