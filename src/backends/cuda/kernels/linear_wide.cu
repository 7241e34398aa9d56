// linear_wide: products of weights in units with many rows of x. A group computes 128 x 128 values
// of the result: eight warps of 32 weight rows by 64 rows of x, over a shared ring. Sums use the
// column parts of linear_narrow in the same order, so results have the same bits.
#include "backends/cuda/kernels/device_unit_linear.h"

namespace tenon::cuda {

template <typename Format>
struct LinearWide {
  const gpu::UnitLinearStage& stage;  // by reference, to save registers
  Constants constants;

  using Block = WideBlock<Format>;
  // Tiles per warp.
  static constexpr uint kTiles = 2;
  static constexpr uint kRowTiles = 8;
  static constexpr uint kWarpsAlong = Block::kTiles / kTiles;  // the rows of the weight
  static_assert(kWarpsAlong * Block::kRowTiles / kRowTiles == Block::kWarps);
  using Sums = float[kTiles][kRowTiles][4];

  TENON_DEVICE void run() const {
    const Block block(stage);
    const uint tile = warp() % kWarpsAlong * kTiles;  // first tile of the warp in the block
    const uint row_tile = warp() / kWarpsAlong * kRowTiles;
    const bool has_work = block.tile + tile <= block.last_tile() &&
                          block.row_tile + row_tile <= block.last_row_tile();
    Sums part = {};
    Sums sums = {};
    block.begin();
    for (uint quarter = 0; quarter < block.quarters(); ++quarter) {
      wait_for_copies<Block::kRing.stages - 2>();
      barrier();  // the stage to refill has been multiplied by all warps
      block.request(quarter + Block::kRing.stages - 1);
      if (!has_work) continue;
      char* at = Block::stage_at(quarter);
      // Not unrolled: registers hold one load at a time.
      TENON_NO_UNROLL
      for (uint load = 0; load < kLoadsOfQuarter; ++load) {
        const Format weights[kTiles] = {
            block.operands.weights_at(Block::weights_at(at, tile), load),
            block.operands.weights_at(Block::weights_at(at, tile + 1), load)};
        multiply_load(weights, Block::x_at(at, row_tile), load, part);
      }
      if (block.ends_part(quarter)) add_part(part, sums);
    }
    if (!has_work) return;
    TENON_UNROLL
    for (uint t = 0; t < kTiles; ++t) {
      TENON_UNROLL
      for (uint r = 0; r < kRowTiles; ++r) {
        TENON_UNROLL
        for (uint i = 0; i < 4; ++i) block.store(tile + t, row_tile + r, i, sums[t][r][i]);
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
