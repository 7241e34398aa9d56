// linear_warpgroup: linear_wide for devices whose warps multiply in groups of four (wgmma, compute
// capability 9.0). A warpgroup multiplies 64 weight rows, a tile per warp, held in registers, with
// 128 rows of x from shared memory, 64 at a time. Scales and the order of sums equal those of
// linear_wide.
#include "backends/cuda/kernels/device_unit_linear.h"

namespace tenon::cuda {

template <typename Format>
struct LinearWarpgroup {
  const gpu::UnitLinearStage& stage;  // by reference, to save registers
  Constants constants;

  using Block = WideBlock<Format>;
  static constexpr uint kHalves = 2;    // of the rows of x, a product each
  static constexpr uint kRowTiles = 8;  // tiles per half
  static_assert(kHalves * kRowTiles == Block::kRowTiles);
  using Sums = float[kHalves][kRowTiles][4];

#ifdef TENON_WARPGROUPS
  // Adds the products of a group of columns times their scale; like multiply_load() for one tile.
  TENON_DEVICE static void add_group(const float (&products)[kRowTiles][4], const Format& weights,
                                     uint group, const char* x, uint load,
                                     float (&sums)[kRowTiles][4]) {
    const GroupScales s = weights.scales(group);
    TENON_UNROLL
    for (uint r = 0; r < kRowTiles; ++r) {
      for (uint i = 0; i < 4; ++i) sums[r][i] = fused(products[r][i], s.scale[i / 2], sums[r][i]);
      if constexpr (Format::kHasMinima) {
        const auto& of_x = shared_at<Floats2>(x + r * gpu::kRowQuarterBytes +
                                              gpu::kRowFragmentBytes + load * 32 + lane() % 4 * 8);
        for (uint i = 0; i < 4; ++i) {
          sums[r][i] = fused(-s.minimum[i / 2], of_x.at[i % 2], sums[r][i]);
        }
      }
    }
  }

  // sums += weights x over 32 columns.
  //   x         quarter of the block's rows
  //   products  registers
  TENON_DEVICE static void multiply(const Format& weights, const char* x, uint load, Sums& products,
                                    Sums& sums) {
    constexpr bool kScales = Format::kGroupsOfLoad > 0;
    constexpr uint kSteps = Format::kGroupsOfLoad == kStepsOfLoad ? 1 : kStepsOfLoad;  // at a time
    constexpr uint kHalfBytes = kRowTiles * gpu::kRowQuarterBytes;
    TENON_UNROLL
    for (uint first = 0; first < kStepsOfLoad; first += kSteps) {
      uint a[kSteps][4];
      TENON_UNROLL
      for (uint i = 0; i < kSteps; ++i) weights.codes(first + i, a[i]);
      products_fence();
      TENON_UNROLL
      for (uint half = 0; half < kHalves; ++half) {
        TENON_UNROLL
        for (uint i = 0; i < kSteps; ++i) {
          const uint step = load * kStepsOfLoad + first + i;
          const uint64_t b = core_matrices(x + half * kHalfBytes + step * kStepBytes,
                                           gpu::kRowQuarterBytes, kStepBytes / 2);
          multiply_async(kScales ? products[half] : sums[half], a[i], b, !kScales || i > 0);
        }
        commit_products();
      }
      if constexpr (kScales) {
        wait_for_products<1>();
        add_group(products[0], weights, first / kSteps, x, load, sums[0]);
        wait_for_products<0>();
        add_group(products[1], weights, first / kSteps, x + kHalfBytes, load, sums[1]);
      } else {
        wait_for_products<0>();
      }
    }
  }

  TENON_DEVICE void run() const {
    const Block block(stage);
    Sums products = {};
    Sums part = {};
    Sums sums = {};
    block.begin();
    for (uint quarter = 0; quarter < block.quarters(); ++quarter) {
      wait_for_copies<Block::kRing.stages - 2>();
      shared_fence();
      barrier();  // the stage to refill has been multiplied by all warps
      block.request(quarter + Block::kRing.stages - 1);
      char* at = Block::stage_at(quarter);
      TENON_NO_UNROLL
      for (uint load = 0; load < kLoadsOfQuarter; ++load) {
        const Format weights = block.operands.weights_at(Block::weights_at(at, warp()), load);
        multiply(weights, Block::x_at(at, 0), load, products, part);
      }
      if (block.ends_part(quarter)) add_part(part, sums);
    }
    TENON_UNROLL
    for (uint half = 0; half < kHalves; ++half) {
      TENON_UNROLL
      for (uint r = 0; r < kRowTiles; ++r) {
        TENON_UNROLL
        for (uint i = 0; i < 4; ++i) block.store(warp(), half * kRowTiles + r, i, sums[half][r][i]);
      }
    }
  }
#else
  TENON_DEVICE void run() const {}  // never launched
#endif
};

}  // namespace tenon::cuda

#define TENON_WARPGROUP(name, format)                                           \
  TENON_BOUND_ENTRY(linear_warpgroup_##name, tenon::gpu::kWideThreads, 1, true, \
                    tenon::cuda::LinearWarpgroup<tenon::cuda::format>)
TENON_WARPGROUP(f16, UnitsF16)
TENON_WARPGROUP(q8_0, UnitsQ8_0)
TENON_WARPGROUP(q4_k, UnitsQ4_K)
TENON_WARPGROUP(q6_k, UnitsQ6_K)
#undef TENON_WARPGROUP
