// The layout of a KV cache block in this backend. No arithmetic.
//
//   block of a group   [layers][kv_heads] areas
//   area               keys    [key_rows][block_tokens] elements
//                      values  [block_tokens][value_stride] elements
//                      scales  of keys and of values [block_tokens] each, f16: int8 and q4 only
//   area of LATENT     rows    [block_tokens][row_stride] elements, the value a part of its key
//                      scales  [block_tokens], f16: int8 and q4 only
//
// Keys have the positions innermost, so a vector of keys is 16 positions of one dimension; values
// have the dimensions innermost. Kernels read both without shuffling. Two 4-bit elements share a
// byte: key row r holds dimension r in the low halves and r + key_rows in the high ones; 16 bytes
// of values hold dimensions i..i+15 low and i+16..i+31 high. A latent row is laid out like a value:
// one copy serves the scores and the weighted sums.
#pragma once

#include <cstdint>

#include "abi/cache_rows.h"
#include "tenon/backend.h"

namespace tenon::cpu {

/// Element types of the cache, in the order of kernel tables.
enum class CacheType : uint32_t { F32, F16, Int8, Q4, Count };

/// Returns Count for an unsupported type.
constexpr CacheType cache_type(uint32_t type) {
  switch (type) {
    case TENON_TYPE_F32:
      return CacheType::F32;
    case TENON_TYPE_F16:
      return CacheType::F16;
    case TENON_CACHE_INT8:
      return CacheType::Int8;
    case TENON_CACHE_Q4:
      return CacheType::Q4;
    default:
      return CacheType::Count;
  }
}

/// A layer and KV head of a block.
struct CacheBlock {
  uint32_t block_tokens;  ///< positions, or rows of a stride; kernels need a multiple of 16
  uint32_t key_dim;
  uint32_t value_dim;
  CacheType type;
  bool latent;

  explicit constexpr CacheBlock(const tenon_cache_group& group)
      : block_tokens(backends::rows_of_block(group)),
        key_dim(group.key_dim),
        value_dim(group.value_dim),
        type(cache_type(group.type)),
        latent(group.kind == TENON_CACHE_LATENT) {}

  /// Layout of blocks into which rows are gathered for kernels.
  [[nodiscard]] constexpr CacheBlock gathered() const {
    constexpr uint32_t kRows = 32;
    CacheBlock block = *this;
    block.block_tokens = kRows;
    return block;
  }

  static constexpr uint64_t round_up(uint64_t n, uint64_t unit) {
    return (n + unit - 1) / unit * unit;
  }
  [[nodiscard]] constexpr bool scaled() const {
    return type == CacheType::Int8 || type == CacheType::Q4;
  }
  /// Bytes of n elements.
  [[nodiscard]] constexpr uint64_t bytes(uint64_t n) const {
    switch (type) {
      case CacheType::F32:
        return 4 * n;
      case CacheType::F16:
        return 2 * n;
      case CacheType::Int8:
        return n;
      default:
        return n / 2;
    }
  }
  /// Dimensions that share a row of keys, or vectors of dimensions that share bytes of values.
  [[nodiscard]] constexpr uint32_t parts() const { return type == CacheType::Q4 ? 2 : 1; }
  [[nodiscard]] constexpr uint64_t key_rows() const { return (key_dim + parts() - 1) / parts(); }
  [[nodiscard]] constexpr uint64_t key_row_bytes() const {
    return bytes(uint64_t{block_tokens} * parts());
  }
  /// Columns that are summed to give a value: all columns, or, in rotated latent rows, whole
  /// rotations (quant/cache_row.h), because the value is a part of the unrotated row.
  [[nodiscard]] constexpr uint32_t value_columns() const {
    if (!latent || type != CacheType::Q4) return value_dim;
    uint32_t columns = 0;
    while (columns < value_dim) {
      uint32_t rotation = 1;
      while (rotation * 2 <= key_dim - columns) rotation *= 2;
      columns += rotation;
    }
    return columns;
  }
  [[nodiscard]] constexpr uint64_t value_stride() const {
    return round_up(value_columns(), uint64_t{16} * parts());
  }
  /// Elements per latent row.
  [[nodiscard]] constexpr uint64_t row_stride() const {
    return round_up(key_dim, uint64_t{16} * parts());
  }
  [[nodiscard]] constexpr uint64_t query_stride() const { return latent ? row_stride() : key_dim; }
  /// Distance between the values, or latent rows, of positions.
  [[nodiscard]] constexpr uint64_t value_row_bytes() const {
    return bytes(latent ? row_stride() : value_stride());
  }

  [[nodiscard]] constexpr uint64_t value_offset() const {
    return latent ? 0 : key_rows() * key_row_bytes();
  }
  [[nodiscard]] constexpr uint64_t key_scale_offset() const {
    return value_offset() + block_tokens * value_row_bytes();
  }
  [[nodiscard]] constexpr uint64_t value_scale_offset() const {
    return key_scale_offset() + (latent ? 0 : block_tokens * sizeof(uint16_t));
  }
  /// Distance between areas: whole cache lines.
  [[nodiscard]] constexpr uint64_t area_bytes() const {
    const uint64_t scales = scaled() ? (latent ? 1 : 2) * block_tokens * sizeof(uint16_t) : 0;
    return round_up(key_scale_offset() + scales, 64);
  }
  /// Distance between blocks. Large blocks have an extra area: at a distance of a power of two,
  /// which is common, the areas of a head would compete for few cache sets.
  [[nodiscard]] constexpr uint64_t block_bytes(uint64_t areas) const {
    constexpr uint64_t kManyAreas = 64;
    return area_bytes() * (areas >= kManyAreas ? areas + 1 : areas);
  }
};

}  // namespace tenon::cpu
