// Conversions between f32 and the small scalar types that block formats store: f16, bf16, e8m0 and
// ue4m3. Integer arithmetic only, so the bits depend on no instruction set and no rounding mode.
#pragma once

#include <bit>
#include <cstdint>

#include "quant/isa.h"

namespace tenon {
inline namespace TENON_QUANT_ISA {

/// IEEE 754 binary16 to f32: exact; signalling NaNs become quiet, payloads are kept.
constexpr float f16_to_f32(uint16_t half) noexcept {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity, NaN
    const uint32_t quiet = magnitude > 0x7c00u ? 0x00400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (magnitude & 0x3ffu) << 13);
  }
  if (magnitude >= 0x0400u) {  // normal: the exponent bias grows from 15 to 127
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  }
  const float value = static_cast<float>(magnitude) * 0x1p-24f;  // zero, subnormal
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

/// f32 to IEEE 754 binary16: nearest, ties to even; too large becomes infinity, NaN stays NaN
/// (quiet, top ten payload bits).
constexpr uint16_t f32_to_f16(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t half = 0;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520, halfway above the largest half
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14, the smallest normal half
    const uint32_t rebased = magnitude - (112u << 23);
    half = (rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13;
  } else if (magnitude >= 0x33000000u) {  // 2^-25, half the smallest subnormal
    const uint32_t shift = 126u - (magnitude >> 23);
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t rest = mantissa & ((1u << shift) - 1u);
    const uint32_t tie = 1u << (shift - 1u);
    half = mantissa >> shift;
    if (rest > tie || (rest == tie && (half & 1u) != 0)) ++half;
  }
  return static_cast<uint16_t>(sign | half);
}

/// bfloat16 to f32: exact, all bits kept.
constexpr float bf16_to_f32(uint16_t brain) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(brain) << 16);
}

/// f32 to bfloat16: nearest, ties to even; NaN stays NaN (quiet, top payload bits).
constexpr uint16_t f32_to_bf16(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// Half of an e8m0 scale, 2^(code - 128), for MXFP4, whose values are stored doubled. Code 255, NaN
/// in the OCP MX specification, reads as 2^127 like any other code: files hold no NaN.
constexpr float e8m0_half_to_f32(uint8_t code) noexcept {
  const uint32_t bits = code < 2 ? 0x00200000u << code : (code - 1u) << 23;
  return std::bit_cast<float>(bits);
}

/// Unsigned e4m3 (bias 7, subnormals in steps of 2^-9) to f32: exact. 0x7f, NaN in the OCP FP8
/// specification, reads as 0; the top bit is ignored otherwise.
constexpr float ue4m3_to_f32(uint8_t code) noexcept {
  if (code == 0x7f) return 0.0f;
  const uint32_t exponent = (code >> 3) & 15u;
  const uint32_t mantissa = code & 7u;
  if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-9f;
  return std::bit_cast<float>((exponent + 120u) << 23 | mantissa << 20);
}

/// f32 to unsigned e4m3: nearest, ties to the even code, 448 (0x7e) at most; zero, negative and NaN
/// give 0.
constexpr uint8_t f32_to_ue4m3(float value) noexcept {
  if (!(value > 0.0f)) return 0;
  if (value >= 448.0f) return 0x7e;
  uint8_t code = 0;  // the largest code whose value is not above `value`
  for (uint8_t bit = 0x40; bit != 0; bit = static_cast<uint8_t>(bit >> 1)) {
    const uint8_t trial = code | bit;
    if (trial <= 0x7e && ue4m3_to_f32(trial) <= value) code = trial;
  }
  const float below = value - ue4m3_to_f32(code);
  const float above = ue4m3_to_f32(static_cast<uint8_t>(code + 1)) - value;
  const bool up = above < below || (above == below && (code & 1u) != 0);
  return static_cast<uint8_t>(code + (up ? 1 : 0));
}

}  // namespace TENON_QUANT_ISA
}  // namespace tenon
