// Weights in rows on a device: blocks as in a model file, each at a multiple of four bytes, so that
// shaders load words. Vectors and other small weights are f32.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "abi/strided.h"
#include "quant/formats.h"
#include "tenon/backend.h"

namespace tenon::gpu {

inline constexpr uint64_t kWordBytes = 4;
/// Shaders load eight floats at a time, possibly this far past the last row.
inline constexpr uint64_t kReadBeyond = 32;

constexpr uint64_t whole_words(uint64_t bytes) noexcept {
  return (bytes + kWordBytes - 1) / kWordBytes * kWordBytes;
}

/// Distance between blocks in bytes; between values for formats without blocks.
constexpr uint64_t block_stride(const FormatInfo& format) noexcept {
  return format.block_values == 1 ? format.block_bytes : whole_words(format.block_bytes);
}

/// Distance between rows of `columns` values (whole blocks) in bytes.
constexpr uint64_t row_stride(const FormatInfo& format, uint64_t columns) noexcept {
  return whole_words(columns / format.block_values * block_stride(format));
}

/// Copies a row of `columns` values from the blocks of a file to [row_stride] bytes.
inline void pack_row(const FormatInfo& format, const std::byte* blocks, uint64_t columns,
                     std::byte* row) noexcept {
  const uint64_t stride = block_stride(format);
  const uint64_t bytes = columns / format.block_values * format.block_bytes;
  std::memset(row + row_stride(format, columns) - kWordBytes, 0, kWordBytes);
  if (stride == format.block_bytes) {
    std::memcpy(row, blocks, bytes);
    return;
  }
  for (uint64_t b = 0; b < columns / format.block_values; ++b) {
    std::byte* to = row + b * stride;
    std::memset(to + stride - kWordBytes, 0, kWordBytes);
    std::memcpy(to, blocks + b * format.block_bytes, format.block_bytes);
  }
}

/// Inverse of pack_row(): the blocks of a file from a shader's row.
inline void unpack_row(const FormatInfo& format, const std::byte* row, uint64_t columns,
                       std::byte* blocks) noexcept {
  for (uint64_t b = 0; b < columns / format.block_values; ++b) {
    std::memcpy(blocks + b * format.block_bytes, row + b * block_stride(format),
                format.block_bytes);
  }
}

/// True if input `input` of an operation is a matrix, multiplied or looked up row by row. Other
/// weights are small and used directly.
constexpr bool is_matrix_input(uint32_t kind, uint32_t input) noexcept {
  switch (kind) {
    case TENON_OP_EMBED:
    case TENON_OP_NGRAM_ROWS:
      return input == 0;
    case TENON_OP_LINEAR:
    case TENON_OP_LINEAR_HEADS:
      return input == 1;
    case TENON_OP_MOE_LINEAR:
      return input == 2;
    default:
      return false;
  }
}

/// True if some operation uses the weight as a small one; it is then f32 for all.
inline bool is_small_weight(const tenon_program& program, uint32_t slot) {
  const Strided<tenon_op> ops = ops_of(program);
  for (uint32_t i = 0; i < ops.size(); ++i) {
    for (uint32_t input = 0; input < TENON_MAX_INPUTS; ++input) {
      if (ops[i].inputs[input] == slot && !is_matrix_input(ops[i].kind, input)) return true;
    }
  }
  return false;
}

}  // namespace tenon::gpu
