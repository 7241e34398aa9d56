// Takes blocks of the packed formats apart into plain integers, and puts values together again with
// the float operations of the format's own decoder. Used when weights are packed and rows read
// back.
#pragma once

#include <cstring>

#include "backends/cpu/panels.h"
#include "quant/half.h"
#include "quant/k_scales.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"

namespace tenon::cpu {
namespace {

/// Value j of 32 in the low nibble of byte j, value j + 16 in the high one.
inline void nibbles_of_32(const uint8_t* qs, uint8_t* q) noexcept {
  for (int j = 0; j < 16; ++j) {
    q[j] = qs[j] & 15;
    q[j + 16] = qs[j] >> 4;
  }
}

/// Bit j of the 32 in qh[4] is bit 4 of value j.
inline void add_fifth_bits(const uint8_t* qh, uint8_t* q) noexcept {
  for (int j = 0; j < 32; ++j) q[j] |= static_cast<uint8_t>((qh[j / 8] >> (j % 8) & 1) << 4);
}

/// The nibbles, scales and minima that q4_K and q5_K share.
template <typename Block>
void extract_k(const Block& block, UnitValues& unit) noexcept {
  unit.d = block.d;
  unit.min = block.dmin;
  for (int s = 0; s < 8; ++s) {
    const KScale k = read_k_scale(block.scales, s);
    unit.scales[s] = static_cast<uint8_t>(k.scale);
    unit.mins[s] = static_cast<uint8_t>(k.minimum);
    for (int l = 0; l < 32; ++l) {
      unit.q[32 * s + l] = block.qs[s / 2 * 32 + l] >> (s % 2 * 4) & 15;
    }
  }
}

inline void extract(const BlockQ4_0& block, UnitValues& unit) noexcept {
  unit.d = block.d;
  nibbles_of_32(block.qs, unit.q);
}
inline void extract(const BlockQ4_1& block, UnitValues& unit) noexcept {
  unit.d = block.d;
  unit.min = block.m;
  nibbles_of_32(block.qs, unit.q);
}
inline void extract(const BlockQ5_0& block, UnitValues& unit) noexcept {
  unit.d = block.d;
  nibbles_of_32(block.qs, unit.q);
  add_fifth_bits(block.qh, unit.q);
}
inline void extract(const BlockQ5_1& block, UnitValues& unit) noexcept {
  unit.d = block.d;
  unit.min = block.m;
  nibbles_of_32(block.qs, unit.q);
  add_fifth_bits(block.qh, unit.q);
}
inline void extract(const BlockQ8_0& block, UnitValues& unit) noexcept {
  unit.d = block.d;
  std::memcpy(unit.q, block.qs, sizeof(block.qs));
}
inline void extract(const BlockQ4_K& block, UnitValues& unit) noexcept { extract_k(block, unit); }
inline void extract(const BlockQ5_K& block, UnitValues& unit) noexcept {
  extract_k(block, unit);
  for (int k = 0; k < 256; ++k) {
    unit.q[k] |= static_cast<uint8_t>((block.qh[k % 32] >> (k / 32) & 1) << 4);
  }
}
inline void extract(const BlockQ6_K& block, UnitValues& unit) noexcept {
  unit.d = block.d;
  std::memcpy(unit.scales, block.scales, sizeof(block.scales));
  for (int half = 0; half < 2; ++half) {
    for (int k = 0; k < 4; ++k) {
      const uint8_t* low = block.ql + 64 * half + 32 * (k % 2);
      const uint8_t* high = block.qh + 32 * half;
      uint8_t* q = unit.q + 128 * half + 32 * k;
      for (int l = 0; l < 32; ++l) {
        q[l] = static_cast<uint8_t>((low[l] >> (k / 2 * 4) & 15) | (high[l] >> (2 * k) & 3) << 4);
      }
    }
  }
}

/// value = (q - bias) * d: q4_0, q5_0.
template <int kBias>
void values_half(const UnitValues& unit, float* out) noexcept {
  const float d = f16_to_f32(unit.d);
  for (int k = 0; k < 32; ++k) out[k] = static_cast<float>(unit.q[k] - kBias) * d;
}
/// value = q * d + m: q4_1, q5_1.
inline void values_half_min(const UnitValues& unit, float* out) noexcept {
  const float d = f16_to_f32(unit.d);
  const float m = f16_to_f32(unit.min);
  for (int k = 0; k < 32; ++k) out[k] = static_cast<float>(unit.q[k]) * d + m;
}
/// value = q * d with a signed byte q: q8_0.
inline void values_signed(const UnitValues& unit, float* out) noexcept {
  const float d = f16_to_f32(unit.d);
  for (int k = 0; k < 32; ++k) out[k] = static_cast<float>(static_cast<int8_t>(unit.q[k])) * d;
}
/// value = d * scale * q - dmin * minimum: q4_K, q5_K.
inline void values_super(const UnitValues& unit, float* out) noexcept {
  const float d = f16_to_f32(unit.d);
  const float dmin = f16_to_f32(unit.min);
  for (int k = 0; k < 256; ++k) {
    const float scale = d * static_cast<float>(unit.scales[k / 32]);
    out[k] = scale * static_cast<float>(unit.q[k]) - dmin * static_cast<float>(unit.mins[k / 32]);
  }
}
/// value = d * scale * (q - 32): q6_K.
inline void values_super6(const UnitValues& unit, float* out) noexcept {
  const float d = f16_to_f32(unit.d);
  for (int k = 0; k < 256; ++k) {
    const float scale = d * static_cast<float>(static_cast<int8_t>(unit.scales[k / 16]));
    out[k] = scale * static_cast<float>(unit.q[k] - 32);
  }
}

}  // namespace
}  // namespace tenon::cpu
