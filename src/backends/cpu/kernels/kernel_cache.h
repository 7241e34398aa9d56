// Loads and stores elements of the KV cache as f32 vectors, per cache type. Included by
// kernels_<isa>.cpp after vec.h. cache_block.h defines the layout.
#pragma once

#include <cstring>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/vec.h"
#include "backends/cpu/layouts/cache_block.h"
#include "quant/cache_row.h"
#include "quant/half.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Loads 16 elements (of q4: one half of each of 16 bytes) as f32, without scale. kPart selects the
/// half.
struct CacheF32 {
  static constexpr CacheType kType = CacheType::F32;
  static constexpr int kParts = 1;
  static constexpr uint64_t kVectorBytes = 64;
  template <int kPart>
  static F32x16 load_16(const uint8_t* p) {
    return load(reinterpret_cast<const float*>(p));
  }
};
struct CacheF16 {
  static constexpr CacheType kType = CacheType::F16;
  static constexpr int kParts = 1;
  static constexpr uint64_t kVectorBytes = 32;
  template <int kPart>
  static F32x16 load_16(const uint8_t* p) {
    return load_f16(reinterpret_cast<const uint16_t*>(p));
  }
};
struct CacheInt8 {
  static constexpr CacheType kType = CacheType::Int8;
  static constexpr int kParts = 1;
  static constexpr uint64_t kVectorBytes = 16;
  template <int kPart>
  static F32x16 load_16(const uint8_t* p) {
    return load_s8_as_f32(p);
  }
};
struct CacheQ4 {
  static constexpr CacheType kType = CacheType::Q4;
  static constexpr int kParts = 2;
  static constexpr uint64_t kVectorBytes = 16;
  template <int kPart>
  static F32x16 load_16(const uint8_t* p) {
    return load_q4_levels<kPart>(p);
  }
};

/// Half `part` of a byte.
inline void set_nibble(uint8_t& byte, uint32_t part, uint8_t code) {
  byte = static_cast<uint8_t>(part == 0 ? (byte & 0xF0) | code : (byte & 0x0F) | code << 4);
}
inline void put_scale(uint8_t* area, uint64_t offset, uint32_t slot, uint16_t scale) {
  std::memcpy(area + offset + slot * sizeof(scale), &scale, sizeof(scale));
}

/// n values with the dimensions innermost: a value or a latent row.
inline void write_row(const float* v, uint64_t n, const CacheBlock& shape, uint8_t* area,
                      uint32_t slot) {
  uint8_t* row = area + shape.value_offset() + slot * shape.value_row_bytes();
  float rotated[kMaxCacheRow];
  uint8_t codes[kMaxCacheRow];
  switch (shape.type) {
    case CacheType::F32:
      std::memcpy(row, v, n * sizeof(float));
      return;
    case CacheType::F16:
      for (uint64_t d = 0; d < n; d += 16) {
        store_f16(reinterpret_cast<uint16_t*>(row) + d,
                  n - d < 16 ? load_part(v + d, n - d) : load(v + d));
      }
      return;
    case CacheType::Int8:
      put_scale(area, shape.value_scale_offset(), slot,
                encode_row_int8(v, n, reinterpret_cast<int8_t*>(row)));
      return;
    default:
      std::memcpy(rotated, v, n * sizeof(float));
      put_scale(area, shape.value_scale_offset(), slot, encode_row_q4(rotated, n, codes));
      for (uint64_t d = 0; d < n; ++d) {
        set_nibble(row[d / 32 * 16 + d % 16], d % 32 >= 16 ? 1 : 0, codes[d]);
      }
  }
}

/// Fills the rest of a row with zeros: scores multiply it by zero, so it must be a number. Other
/// cache types have no rest.
inline void write_latent(const float* k, const CacheBlock& shape, uint8_t* area, uint32_t slot) {
  const uint64_t n = shape.key_dim;
  write_row(k, n, shape, area, slot);
  if (shape.type != CacheType::F32) return;
  std::memset(area + slot * shape.value_row_bytes() + n * sizeof(float), 0,
              (shape.row_stride() - n) * sizeof(float));
}

inline void write_key(const float* k, const CacheBlock& shape, uint8_t* area, uint32_t slot) {
  if (shape.latent) return write_latent(k, shape, area, slot);
  const uint64_t row_bytes = shape.key_row_bytes();
  const uint64_t rows = shape.key_rows();
  int8_t levels[kMaxCacheRow];
  uint8_t codes[kMaxCacheRow];
  float rotated[kMaxCacheRow];
  switch (shape.type) {
    case CacheType::F32:
      for (uint64_t d = 0; d < rows; ++d) {
        std::memcpy(area + d * row_bytes + slot * sizeof(float), k + d, sizeof(float));
      }
      return;
    case CacheType::F16:
      for (uint64_t d = 0; d < rows; d += 16) {
        const uint64_t n = rows - d < 16 ? rows - d : 16;
        uint16_t lanes[16];
        store_f16(lanes, n == 16 ? load(k + d) : load_part(k + d, n));
        for (uint64_t i = 0; i < n; ++i) {
          std::memcpy(area + (d + i) * row_bytes + slot * sizeof(uint16_t), lanes + i,
                      sizeof(uint16_t));
        }
      }
      return;
    case CacheType::Int8:
      put_scale(area, shape.key_scale_offset(), slot, encode_row_int8(k, rows, levels));
      for (uint64_t d = 0; d < rows; ++d) {
        area[d * row_bytes + slot] = static_cast<uint8_t>(levels[d]);
      }
      return;
    default:
      std::memcpy(rotated, k, shape.key_dim * sizeof(float));
      put_scale(area, shape.key_scale_offset(), slot, encode_row_q4(rotated, shape.key_dim, codes));
      for (uint64_t d = 0; d < shape.key_dim; ++d) {
        set_nibble(area[d % rows * row_bytes + slot], d >= rows ? 1 : 0, codes[d]);
      }
  }
}

inline void write_value(const float* v, const CacheBlock& shape, uint8_t* area, uint32_t slot) {
  write_row(v, shape.value_dim, shape, area, slot);
}

inline void kv_write(const float* k, const float* v, const CacheBlock& shape, uint8_t* area,
                     uint32_t slot) noexcept {
  if (k != nullptr) write_key(k, shape, area, slot);
  if (v != nullptr) write_value(v, shape, area, slot);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
