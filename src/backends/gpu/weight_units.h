// Weights in units for matrix instructions (packed_unit.h): supported formats, byte layout, and
// packing of file rows. Weights that some operation looks up row by row are stored in rows
// (weight_rows.h).
//
//   weight  [tiles of 16 rows][units of 256 columns] units; for bf16 then f32 [rows], row factors
//   unit    a head, then four quarters
//   quarter the planes of its codes, low bits first, then its scales
//
//   format   planes       head                   scales of a quarter
//   f16      16 bits      -                      -
//   bf16     16 bits: f16 of the row times a power of two, the largest value in [2^14, 2^15)
//   q8_0     8: code+128  -                      [16 rows][2] f16, for 32 columns each
//   q4_K     4            [16 rows] d, dmin f16  [16 rows][2] scale, minimum bytes per 32 columns
//   q6_K     4 and 2      [16 rows] d f16        [16 rows][4] int8, for 16 columns each
//
// Rows and columns past the end are zeros, with scales of zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/gpu/packed_unit.h"
#include "quant/formats.h"

namespace tenon::gpu {

struct UnitLayout {
  uint32_t low_bits = 0;  ///< per plane; 0: the format has no units
  uint32_t high_bits = 0;
  uint32_t head_bytes = 0;
  uint32_t scale_bytes = 0;  ///< per quarter
  [[nodiscard]] constexpr bool exists() const noexcept { return low_bits != 0; }
  [[nodiscard]] constexpr uint32_t quarter_bytes() const noexcept {
    return plane_bytes(low_bits) + plane_bytes(high_bits) + scale_bytes;
  }
  [[nodiscard]] constexpr uint32_t unit_bytes() const noexcept {
    return head_bytes + kUnitColumns / kQuarterColumns * quarter_bytes();
  }
};

constexpr UnitLayout unit_layout(Format format) noexcept {
  switch (format) {
    case Format::F16:
    case Format::BF16:
      return {16, 0, 0, 0};
    case Format::Q8_0:
      return {8, 0, 0, 64};
    case Format::Q4_K:
      return {4, 0, 64, 64};
    case Format::Q6_K:
      return {4, 2, 32, 64};
    default:
      return {};
  }
}

constexpr uint64_t units_of_row(uint64_t columns) noexcept {
  return (columns + kUnitColumns - 1) / kUnitColumns;
}
constexpr uint64_t tiles_of_rows(uint64_t rows) noexcept {
  return (rows + kUnitRows - 1) / kUnitRows;
}

/// Bytes of a tile's units (16 rows).
constexpr uint64_t tile_bytes(Format format, uint64_t columns) noexcept {
  return units_of_row(columns) * unit_layout(format).unit_bytes();
}

/// Packs up to 16 rows of a file, each [columns] values in whole blocks, contiguous, as one tile.
///   rows     1 to 16
///   units    [tile_bytes]
///   factors  [16] row factors of bf16; 1 for other formats
void pack_tile(Format format, const std::byte* blocks, uint64_t rows, uint64_t columns,
               std::byte* units, float* factors) noexcept;

}  // namespace tenon::gpu
