// Elements of the KV cache as f64: the only place that knows how they are stored.
#pragma once

#include <cstdint>
#include <cstring>

#include "quant/half.h"
#include "tenon/backend.h"

namespace tenon::reference {

/// Bytes of a cache element of `type` (f32 or f16).
inline uint64_t cache_element_bytes(uint32_t type) noexcept {
  return type == TENON_TYPE_F16 ? 2 : 4;
}

/// Rounds one value to the cache's type and stores it as element `index` of `row`.
inline void store_element(std::byte* row, uint64_t index, uint32_t type, double value) noexcept {
  const auto rounded = static_cast<float>(value);
  if (type == TENON_TYPE_F16) {
    const uint16_t half = f32_to_f16(rounded);
    std::memcpy(row + index * sizeof(half), &half, sizeof(half));
  } else {
    std::memcpy(row + index * sizeof(rounded), &rounded, sizeof(rounded));
  }
}

/// Element `index` of `row`.
inline double load_element(const std::byte* row, uint64_t index, uint32_t type) noexcept {
  if (type == TENON_TYPE_F16) {
    uint16_t half = 0;
    std::memcpy(&half, row + index * sizeof(half), sizeof(half));
    return f16_to_f32(half);
  }
  float value = 0;
  std::memcpy(&value, row + index * sizeof(value), sizeof(value));
  return value;
}

}  // namespace tenon::reference
