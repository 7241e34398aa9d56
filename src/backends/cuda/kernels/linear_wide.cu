// linear_wide: products of weights in units with many rows of x. A group computes 128 x 128 values of the result: eight
// warps of 32 rows of the weight by 64 rows of x, over a ring that all of them fill. Sums are taken over the same
// parts of the columns as in linear_narrow, and added in the same order, so results have the same bits.
#include "backends/cuda/kernels/device_unit_linear.h"

namespace tenon::cuda {

template <typename Format>
struct LinearWide {
  const gpu::UnitLinearStage& stage;  // registers are short
  Constants constants;

  static constexpr Ring kRing = wide_ring(Format::kFormat);
  static constexpr uint kGroupTiles = gpu::kWideRows / gpu::kUnitRows;
  static constexpr uint kGroupRowTiles = gpu::kWideTokens / gpu::kRowUnitRows;
  // Of a warp.
  static constexpr uint kTiles = 2;
  static constexpr uint kRowTiles = 8;
  static constexpr uint kWarpsAlong = kGroupTiles / kTiles;  // the rows of the weight
  static constexpr uint kWarps = kWarpsAlong * kGroupRowTiles / kRowTiles;
  static_assert(kWarps * kWarp == gpu::kWideThreads);
  static_assert(kWarps == kGroupTiles, "each warp copies a tile, and two tiles of x");
  using Sums = float[kTiles][kRowTiles][4];

  struct Place {
    uint tile;      // the first one
    uint row_tile;  // of x
  };

  // Groups that run at the same time have other rows of x and the same weights, which then come from the second level
  // of caches.
  TENON_DEVICE Place place(uint blocks_of_x) const {
    const uint number = group_y() * num_groups() + group_x();
    return {number / blocks_of_x * kGroupTiles, number % blocks_of_x * kGroupRowTiles};
  }

  TENON_DEVICE void add_part(Sums& part, Sums& sums) const {
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

  TENON_DEVICE void run() const {
    const UnitOperands<Format> operands{stage};
    const uint rows = rows_of(Step(stage.step), stage.row_class);
    const Place group = place((rows + gpu::kWideTokens - 1) / gpu::kWideTokens);
    const uint last_tile = operands.num_tiles() - 1;
    const uint last_row_tile = (rows - 1) / gpu::kRowUnitRows;
    const uint quarters = operands.num_quarters();
    char* ring = dynamic_shared<char>();
    const auto stage_at = [&](uint quarter) {
      return ring + quarter % kRing.stages * kRing.stage_bytes;
    };
    const auto x_at = [&](char* at, uint row_tile) {
      return at + kGroupTiles * kRing.weight_bytes + row_tile * gpu::kRowQuarterBytes;
    };
    // Beyond the last tile the last one is multiplied again, and what comes of it is not stored.
    const auto request = [&](uint quarter) {
      if (quarter < quarters) {
        char* at = stage_at(quarter);
        operands.copy_weights(at + warp() * kRing.weight_bytes,
                              smaller(group.tile + warp(), last_tile), quarter);
        for (uint r = warp(); r < kGroupRowTiles; r += kWarps) {
          operands.copy_x(x_at(at, r), smaller(group.row_tile + r, last_row_tile), quarter,
                          gpu::kRowUnitRows);
        }
      }
      commit_copies();
    };

    const uint tile = warp() % kWarpsAlong * kTiles;  // the warp's first, of the group's
    const uint row_tile = warp() / kWarpsAlong * kRowTiles;
    const bool has_work =
        group.tile + tile <= last_tile && group.row_tile + row_tile <= last_row_tile;
    Sums part = {};
    Sums sums = {};
    for (uint i = 0; i + 1 < kRing.stages; ++i) request(i);
    for (uint quarter = 0; quarter < quarters; ++quarter) {
      wait_for_copies<kRing.stages - 2>();
      barrier();  // all warps have multiplied the quarter before, whose stage is filled anew
      request(quarter + kRing.stages - 1);
      if (!has_work) continue;
      char* at = stage_at(quarter);
      // Registers hold one load at a time.
      TENON_NO_UNROLL
      for (uint load = 0; load < kLoadsOfQuarter; ++load) {
        const Format weights[kTiles] = {
            operands.weights_at(at + tile * kRing.weight_bytes, load),
            operands.weights_at(at + (tile + 1) * kRing.weight_bytes, load)};
        multiply_load(weights, x_at(at, row_tile), load, part);
      }
      const uint next = quarter + 1;
      if (next == quarters || next % (stage.units_of_part * kQuartersOfUnit) == 0) {
        add_part(part, sums);
      }
    }
    if (!has_work) return;
    TENON_UNROLL
    for (uint t = 0; t < kTiles; ++t) {
      TENON_UNROLL
      for (uint r = 0; r < kRowTiles; ++r) {
        TENON_UNROLL
        for (uint i = 0; i < 4; ++i) {
          const uint row = (group.tile + tile + t) * gpu::kUnitRows + lane() / 4 + i / 2 * 8;
          const uint x_row =
              (group.row_tile + row_tile + r) * gpu::kRowUnitRows + lane() % 4 * 2 + i % 2;
          if (row < stage.rows && x_row < rows) operands.store(row, x_row, sums[t][r][i]);
        }
      }
    }
  }
};

}  // namespace tenon::cuda

#define TENON_WIDE(name, format)                                           \
  TENON_BOUND_ENTRY(linear_wide_##name, tenon::gpu::kWideThreads, 1, true, \
                    tenon::cuda::LinearWide<tenon::cuda::format>)
TENON_WIDE(f16, UnitsF16)
TENON_WIDE(q8_0, UnitsQ8_0)
TENON_WIDE(q4_k, UnitsQ4_K)
TENON_WIDE(q6_k, UnitsQ6_K)
#undef TENON_WIDE
