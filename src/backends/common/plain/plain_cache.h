// Stores and loads keys and values of a head: the only place that knows their layout.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "quant/cache_row.h"
#include "quant/half.h"
#include "tenon/backend.h"

namespace tenon::plain {

/// True if heads of n values can be stored as `type`.
inline bool fits_cache(uint32_t type, uint64_t n) noexcept {
  if (type == TENON_TYPE_F32 || type == TENON_TYPE_F16) return true;
  return (type == TENON_CACHE_INT8 || type == TENON_CACHE_Q4) && n <= kMaxCacheRow;
}

/// Bytes of a head of n values. int8: levels, scale; q4: two codes per byte, the even one low,
/// scale.
inline uint64_t cache_head_bytes(uint32_t type, uint64_t n) noexcept {
  switch (type) {
    case TENON_TYPE_F32:
      return 4 * n;
    case TENON_TYPE_F16:
      return 2 * n;
    case TENON_CACHE_INT8:
      return n + sizeof(uint16_t);
    default:
      return (n + 1) / 2 + sizeof(uint16_t);
  }
}

/// Rounds a head of n values to the cache's type and stores it. Requires fits_cache(type, n).
template <typename Real>
void store_head(std::byte* head, uint32_t type, const Real* values, uint64_t n) noexcept {
  std::array<float, kMaxCacheRow> row;
  std::array<uint8_t, kMaxCacheRow> codes;
  uint16_t scale = 0;
  switch (type) {
    case TENON_TYPE_F32:
      for (uint64_t i = 0; i < n; ++i) {
        const auto value = static_cast<float>(values[i]);
        std::memcpy(head + i * sizeof(value), &value, sizeof(value));
      }
      return;
    case TENON_TYPE_F16:
      for (uint64_t i = 0; i < n; ++i) {
        const uint16_t value = f32_to_f16(static_cast<float>(values[i]));
        std::memcpy(head + i * sizeof(value), &value, sizeof(value));
      }
      return;
    case TENON_CACHE_INT8:
      for (uint64_t i = 0; i < n; ++i) row[i] = static_cast<float>(values[i]);
      scale = encode_row_int8(row.data(), n, reinterpret_cast<int8_t*>(head));
      std::memcpy(head + n, &scale, sizeof(scale));
      return;
    default:
      for (uint64_t i = 0; i < n; ++i) row[i] = static_cast<float>(values[i]);
      scale = encode_row_q4(row.data(), n, codes.data());
      if (n % 2 == 1) codes[n] = 0;
      for (uint64_t i = 0; i < n; i += 2) {
        head[i / 2] = static_cast<std::byte>(codes[i] | codes[i + 1] << 4);
      }
      std::memcpy(head + (n + 1) / 2, &scale, sizeof(scale));
  }
}

/// Loads a stored head as n values.
template <typename Real>
void load_head(const std::byte* head, uint32_t type, uint64_t n, Real* values) noexcept {
  uint16_t scale = 0;
  switch (type) {
    case TENON_TYPE_F32:
      for (uint64_t i = 0; i < n; ++i) {
        float value = 0;
        std::memcpy(&value, head + i * sizeof(value), sizeof(value));
        values[i] = value;
      }
      return;
    case TENON_TYPE_F16:
      for (uint64_t i = 0; i < n; ++i) {
        uint16_t value = 0;
        std::memcpy(&value, head + i * sizeof(value), sizeof(value));
        values[i] = f16_to_f32(value);
      }
      return;
    case TENON_CACHE_INT8:
      std::memcpy(&scale, head + n, sizeof(scale));
      for (uint64_t i = 0; i < n; ++i) {
        values[i] = static_cast<Real>(f16_to_f32(scale)) * static_cast<int8_t>(head[i]);
      }
      return;
    default:
      std::memcpy(&scale, head + (n + 1) / 2, sizeof(scale));
      for (uint64_t i = 0; i < n; ++i) {
        const auto pair = static_cast<uint8_t>(head[i / 2]);
        const auto code = static_cast<uint8_t>(i % 2 == 0 ? pair & 15 : pair >> 4);
        values[i] = static_cast<Real>(f16_to_f32(scale)) * q4_level(code);
      }
      rotate_row(values, n);
  }
}

}  // namespace tenon::plain
