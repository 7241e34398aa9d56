// Common part of products with weights in units, for few and for many rows of x: addresses of units
// and storing of sums.
#pragma once

#include "backends/cuda/kernels/device_mma.h"
#include "backends/cuda/kernels/device_units.h"
#include "backends/cuda/kernels/unit_rings.h"

namespace tenon::cuda {

inline constexpr uint kQuartersOfUnit = gpu::kUnitColumns / gpu::kQuarterColumns;

/// Operands of a UnitLinearStage in quarters, the columns of a ring stage.
template <typename Format>
struct UnitOperands {
  const gpu::UnitLinearStage& stage;

  TENON_DEVICE uint num_tiles() const { return (stage.rows + gpu::kUnitRows - 1) / gpu::kUnitRows; }
  TENON_DEVICE uint num_quarters() const { return stage.units * kQuartersOfUnit; }
  TENON_DEVICE Address unit(uint tile, uint quarter) const {
    return stage.weight + (Address(tile) * stage.units + quarter / kQuartersOfUnit) * Format::kUnit;
  }
  TENON_DEVICE Address x_quarter(uint row_tile, uint quarter) const {
    return stage.x + (Address(row_tile) * num_quarters() + quarter) * gpu::kRowQuarterBytes;
  }

  /// Starts the copies of a unit's head and one of its quarters, by all lanes of a warp.
  TENON_DEVICE void copy_weights(char* to, uint tile, uint quarter) const {
    const Address from = unit(tile, quarter);
    const Address body = from + Format::kHead + quarter % kQuartersOfUnit * Format::kQuarter;
    for (uint i = lane() * 16; i < Format::kHead; i += kWarp * 16) copy_async(to + i, from + i);
    for (uint i = lane() * 16; i < Format::kQuarter; i += kWarp * 16)
      copy_async(to + Format::kHead + i, body + i);
  }
  /// Starts the copies of a quarter of 8 rows of x.
  ///   count  rows needed; other rows may be skipped
  TENON_DEVICE void copy_x(char* to, uint row_tile, uint quarter, uint count) const {
    const Address from = x_quarter(row_tile, quarter);
    if (lane() % gpu::kRowUnitRows < count) {  // row of a core matrix
      for (uint i = lane() * 16; i < gpu::kRowFragmentBytes; i += kWarp * 16) {
        copy_async(to + i, from + i);
      }
    }
    if constexpr (Format::kHasMinima) {
      const uint at = gpu::kRowFragmentBytes + lane() * 16;
      if (at < gpu::kRowQuarterBytes) copy_async(to + at, from + at);
    }
  }
  /// A load of a quarter in a ring stage.
  TENON_DEVICE static Format weights_at(const char* copied, uint load) {
    return Format(copied, copied + Format::kHead, load);
  }

  /// Stores the result of a complete sum.
  TENON_DEVICE void store(uint row, uint x_row, float sum) const {
    const float row_factor = stage.row_factors == 0 ? 1 : Floats(stage.row_factors).at[row];
    const float bias = stage.bias == 0 ? 0 : Floats(stage.bias).at[row];
    const float y = sum * Floats(stage.x_factors).at[x_row] * row_factor;
    Floats(stage.y).at[Address(x_row) * stage.rows + row] = y + bias;
  }
};

/// A group's block of 128 x 128 values of a product, computed by eight warps, with a ring in shared
/// memory that all fill: stages of 8 tiles and 128 rows of x, 64 columns each.
template <typename Format>
struct WideBlock {
  const UnitOperands<Format> operands;
  uint tile;      // first tile
  uint row_tile;  // first tile of x

  static constexpr Ring kRing = wide_ring(Format::kFormat);
  static constexpr uint kTiles = gpu::kWideRows / gpu::kUnitRows;
  static constexpr uint kRowTiles = gpu::kWideTokens / gpu::kRowUnitRows;
  static constexpr uint kWarps = gpu::kWideThreads / kWarp;
  static_assert(kWarps == kTiles, "each warp copies a tile, and two tiles of x");

  // Orders blocks so that concurrent groups have different rows of x and the same weights, which
  // then come from the second-level cache.
  TENON_DEVICE explicit WideBlock(const gpu::UnitLinearStage& stage) : operands{stage} {
    const uint blocks_of_x = (rows() + gpu::kWideTokens - 1) / gpu::kWideTokens;
    const uint number = group_y() * num_groups() + group_x();
    tile = number / blocks_of_x * kTiles;
    row_tile = number % blocks_of_x * kRowTiles;
  }

  // Read on each use, to save registers.
  TENON_DEVICE uint rows() const {  // of x
    return rows_of(Step(operands.stage.step), operands.stage.row_class);
  }
  TENON_DEVICE uint quarters() const { return operands.num_quarters(); }
  TENON_DEVICE uint last_tile() const { return operands.num_tiles() - 1; }
  TENON_DEVICE uint last_row_tile() const { return (rows() - 1) / gpu::kRowUnitRows; }

  TENON_DEVICE static char* stage_at(uint quarter) {
    return dynamic_shared<char>() + quarter % kRing.stages * kRing.stage_bytes;
  }
  /// A tile of the block in a stage.
  TENON_DEVICE static char* weights_at(char* stage, uint number) {
    return stage + number * kRing.weight_bytes;
  }
  TENON_DEVICE static char* x_at(char* stage, uint number) {
    return stage + kTiles * kRing.weight_bytes + number * gpu::kRowQuarterBytes;
  }
  /// Starts the copies of a quarter and commits a set in any case. Past the end, the last tile is
  /// multiplied again and its results are dropped.
  TENON_DEVICE void request(uint quarter) const {
    if (quarter < quarters()) {
      char* at = stage_at(quarter);
      operands.copy_weights(weights_at(at, warp()), smaller(tile + warp(), last_tile()), quarter);
      for (uint r = warp(); r < kRowTiles; r += kWarps) {
        operands.copy_x(x_at(at, r), smaller(row_tile + r, last_row_tile()), quarter,
                        gpu::kRowUnitRows);
      }
    }
    commit_copies();
  }
  TENON_DEVICE void begin() const {
    for (uint i = 0; i + 1 < kRing.stages; ++i) request(i);
  }
  /// True if a part of the columns ends with a quarter (column_parts() of gpu/unit_products.h).
  TENON_DEVICE bool ends_part(uint quarter) const {
    const uint next = quarter + 1;
    return next == quarters() || next % (operands.stage.units_of_part * kQuartersOfUnit) == 0;
  }
  /// Stores a sum that a lane holds in the layout of multiply_add().
  ///   number, row_number  tiles of the block
  TENON_DEVICE void store(uint number, uint row_number, uint i, float sum) const {
    const uint row = (tile + number) * gpu::kUnitRows + lane() / 4 + i / 2 * 8;
    const uint x_row = (row_tile + row_number) * gpu::kRowUnitRows + lane() % 4 * 2 + i % 2;
    if (row < operands.stage.rows && x_row < rows()) operands.store(row, x_row, sum);
  }
};

/// sums += part; part = 0.
template <uint kTiles, uint kRowTiles>
TENON_DEVICE void add_part(float (&part)[kTiles][kRowTiles][4],
                           float (&sums)[kTiles][kRowTiles][4]) {
  TENON_UNROLL
  for (uint t = 0; t < kTiles; ++t) {
    TENON_UNROLL
    for (uint r = 0; r < kRowTiles; ++r) {
      TENON_UNROLL
      for (uint i = 0; i < 4; ++i) {
        sums[t][r][i] += part[t][r][i];
        part[t][r][i] = 0;
      }
    }
  }
}

}  // namespace tenon::cuda
