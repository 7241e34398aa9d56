// What products with weights in units have in common, of few rows of x and of many: where units lie, and what becomes
// of a sum.
#pragma once

#include "backends/cuda/kernels/device_mma.h"
#include "backends/cuda/kernels/device_units.h"
#include "backends/cuda/kernels/unit_rings.h"

namespace tenon::cuda {

inline constexpr uint kQuartersOfUnit = gpu::kUnitColumns / gpu::kQuarterColumns;

/// The operands of a UnitLinearStage in quarters, the columns of a stage of a ring.
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

  /// The lanes of a warp begin to copy the head of a unit, and then one of its quarters.
  TENON_DEVICE void copy_weights(char* to, uint tile, uint quarter) const {
    const Address from = unit(tile, quarter);
    const Address body = from + Format::kHead + quarter % kQuartersOfUnit * Format::kQuarter;
    for (uint i = lane() * 16; i < Format::kHead; i += kWarp * 16) copy_async(to + i, from + i);
    for (uint i = lane() * 16; i < Format::kQuarter; i += kWarp * 16)
      copy_async(to + Format::kHead + i, body + i);
  }
  /// The same of a quarter of 8 rows of x.
  ///   count  rows that are wanted; of others nothing may come
  TENON_DEVICE void copy_x(char* to, uint row_tile, uint quarter, uint count) const {
    const Address from = x_quarter(row_tile, quarter);
    if (lane() / 4 < count) {
      for (uint i = lane() * 16; i < gpu::kRowFragmentBytes; i += kWarp * 16) {
        copy_async(to + i, from + i);
      }
    }
    if constexpr (Format::kHasMinima) {
      const uint at = gpu::kRowFragmentBytes + lane() * 16;
      if (at < gpu::kRowQuarterBytes) copy_async(to + at, from + at);
    }
  }
  /// A load of the quarter that was copied to a stage of a ring.
  TENON_DEVICE static Format weights_at(const char* copied, uint load) {
    return Format(copied, copied + Format::kHead, load);
  }

  /// Writes what the sum of all parts comes to.
  TENON_DEVICE void store(uint row, uint x_row, float sum) const {
    const float row_factor = stage.row_factors == 0 ? 1 : Floats(stage.row_factors).at[row];
    const float bias = stage.bias == 0 ? 0 : Floats(stage.bias).at[row];
    const float y = sum * Floats(stage.x_factors).at[x_row] * row_factor;
    Floats(stage.y).at[Address(x_row) * stage.rows + row] = y + bias;
  }
};

}  // namespace tenon::cuda
