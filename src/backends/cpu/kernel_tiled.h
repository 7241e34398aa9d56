// Linear kernels over integer panels for many activation rows: 256 values of k of a panel are
// unpacked once into a tile of signed bytes, and all activation rows sweep over it. The tile stays
// in the first-level cache, and the sweep is the same code for all formats whose sums need the same
// room. Included by kernels_<isa>.cpp after vec.h.
//
// kernel_integer.h has the arithmetic. Where the dot products of an instruction set want one side
// unsigned, the sweep reads q + 128, and its sums start at -128 times the sum of the weights, which
// the tile keeps: the integers are the same.
#pragma once

#include "backends/cpu/kernel_integer.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Whether a block of a tile has eight values of k of two rows side by side, for instructions that
/// multiply matrices.
template <typename Dot>
constexpr bool kPairsOfRows = requires {
  Dot::kPairsOfRows;
};

/// What the sweeps of units differ by.
template <typename D, int kEvery, uint32_t kGroupValues, bool kWithOffset>
struct Sums {
  using Dot = D;
  static constexpr int kSettleEvery = kEvery;
  static constexpr uint32_t kGroup = kGroupValues;
  static constexpr bool kHasOffset = kWithOffset;
};
template <typename Unit>
constexpr auto sums_of() {
  using Weights = typename Unit::Weights;
  if constexpr (std::is_same_v<Weights, Wide>) {
    return Sums<TileDotWide, 4, Unit::kGroup, Unit::kHasOffset>();
  } else {
    constexpr int kAbove = Weights::kLargest - Unit::kBias;
    constexpr int kLargest = kAbove > Unit::kBias ? kAbove : Unit::kBias;
    return Sums<TileDot, tile_settle_every(kLargest), Unit::kGroup, Unit::kHasOffset>();
  }
}

/// One block of a tile.
struct TileBlock {
  uint8_t bytes[8][64];  // group of 4 values of k; signed byte 4r + j is row r, k = 4g + j
  int32_t start[2][16];  // half, row: what the sums of dot products begin with
  float scale[2][16];
  float offset[2][16];
};
constexpr uint32_t kTileBlocks = kTileDepth / kActivationBlock;
static_assert(sizeof(TileBlock) * kTileBlocks <= kTileDepth * kFloatPanelRows * sizeof(float));

template <typename Unit>
inline void unpack_unit(const uint8_t* bytes, TileBlock* tile) {
  using Dot = typename decltype(sums_of<Unit>())::Dot;
  constexpr uint64_t kBlockBytes = Unit::kBytes / Unit::kBlocks;
  static constexpr uint8_t kBias[4] = {128, 128, 128, 128};
  Unit unit(bytes);
  for (uint32_t b = 0; b < Unit::kBlocks; ++b, ++tile) {
    for (uint64_t line = 0; line < kBlockBytes; line += 64) {
      __builtin_prefetch(bytes + (b + Unit::kBlocks) * kBlockBytes + line);
    }
    // Scales first: the other way round g++ 12 at -O3 loses all stores of the portable iq1_s.
    const BlockScales w = block_scales(unit, b);
    for (int h = 0; h < 2; ++h) {
      store(tile->scale[h], w.scale[h]);
      store(tile->offset[h], w.offset[h]);
    }
    Dot sums[2];
    unit.each(b, [&](auto g, U8x64 unsigned_bytes) {
      const U8x64 weights =
          Unit::kBias == 0 ? unsigned_bytes : subtract(unsigned_bytes, Unit::kBias);
      if constexpr (kPairsOfRows<Dot>) {
        Dot::template store_group<g>(tile->bytes, weights);
      } else {
        store_u8(tile->bytes[g], weights);
      }
      if constexpr (std::is_unsigned_v<typename Dot::Activation>) {
        sums[g / 4].add(weights, kBias);
        sums[g / 4].settle();
      }
    });
    for (int h = 0; h < 2; ++h) store_i32(tile->start[h], negative(sums[h].total()));
  }
}

/// Adds num_blocks blocks of a tile, of which the first is `block` of the activations, to the sums
/// [kCols, 16] of rows [t, t + kCols), which are of one group.
template <typename S, int kCols>
inline void sweep(const TileBlock* tile, const QuantRows& rows, uint64_t t, uint64_t block,
                  uint64_t num_blocks, float* partial) {
  using Dot = typename S::Dot;
  const typename Dot::Activation* q;
  if constexpr (std::is_signed_v<typename Dot::Activation>) {
    q = rows.group_q;
  } else {
    q = rows.group_biased;
  }
  constexpr uint64_t kBlockBytes = uint64_t{kActivationBlock} * kRowGroup;
  q += rows.in_group(t, 4, 4) + block * kBlockBytes;
  const float* d = rows.group_d + rows.in_group(t, kScaleBlock) + 2 * block * kRowGroup;
  const float* sums = rows.group_sums + rows.in_group(t, kScaleBlock) + 2 * block * kRowGroup;
  const float* block_sums =
      rows.group_block_sums + rows.in_group(t, kActivationBlock) + block * kRowGroup;
  // Constant indices: with loops g++ keeps the sums in memory around the blocks.
  F32x16 acc[kCols];
  each_index<kCols>([&](auto c) { acc[c] = load(partial + c * static_cast<int>(kRows)); });
  for (uint64_t b = 0; b < num_blocks; ++b, ++tile) {
    const BlockScales w = {{load(tile->scale[0]), load(tile->scale[1])},
                           {load(tile->offset[0]), load(tile->offset[1])}};
    F32x16 first[kCols];
    const auto half = [&](auto h) {
      const I32x16 start = load_i32(tile->start[h]);
      const auto add_column = [&](int c, I32x16 sums_of_half) {
        add_half<S::kGroup, h>(sums_of_half, d[h * static_cast<int>(kRowGroup) + c], w, first[c],
                               acc[c]);
      };
      if constexpr (kPairsOfRows<Dot>) {
        constexpr int kStride = 4 * static_cast<int>(kRowGroup);
        I32x16 sums_of_half[kCols];
        Dot::half(tile->bytes[4 * h], q + 4 * h * kStride, kStride, start, sums_of_half);
        for (int c = 0; c < kCols; ++c) add_column(c, sums_of_half[c]);
      } else {
        Dot dots[kCols];
        for (int c = 0; c < kCols; ++c) dots[c] = Dot(start);
        for (int g = 0; g < 4; ++g) {
          const U8x64 bytes = load_u8(tile->bytes[4 * h + g]);
          for (int c = 0; c < kCols; ++c) {
            dots[c].add(bytes, q + (4 * h + g) * 4 * static_cast<int>(kRowGroup) + 4 * c);
            if ((g + 1) % S::kSettleEvery == 0) dots[c].settle();
          }
        }
        for (int c = 0; c < kCols; ++c) add_column(c, dots[c].total());
      }
    };
    half(std::integral_constant<int, 0>());
    half(std::integral_constant<int, 1>());
    if constexpr (S::kHasOffset) {
      for (int c = 0; c < kCols; ++c) {
        acc[c] = add_offsets<S::kGroup>(w, sums[c], sums[kRowGroup + c], block_sums[c], acc[c]);
      }
      sums += 2 * kRowGroup;
      block_sums += kRowGroup;
    }
    q += kBlockBytes;
    d += 2 * kRowGroup;
  }
  each_index<kCols>([&](auto c) { store(partial + c * static_cast<int>(kRows), acc[c]); });
}

/// All activation rows against blocks [block, block + num_blocks), which are in the tile; sums
/// [num_rows, 16].
template <typename S>
__attribute__((noinline)) void sweep_rows(const LinearArgs& args, uint64_t block,
                                          uint64_t num_blocks, float* sums) {
  const auto* tile = reinterpret_cast<const TileBlock*>(args.tile);
  uint64_t t = 0;
  const auto columns = [&](auto count) {
    constexpr int kCols = decltype(count)::value;
    for (; t + kCols <= args.num_rows; t += kCols) {
      sweep<S, kCols>(tile, args.quantised, t, block, num_blocks, sums + t * kRows);
    }
  };
  static_assert(kRowGroup % kColumns == 0);
  columns(std::integral_constant<int, kColumns>());
  if constexpr (kColumns > 4) columns(std::integral_constant<int, 4>());
  columns(std::integral_constant<int, 2>());
  columns(std::integral_constant<int, 1>());
}

/// All panels of a call against all activation rows, tile after tile: the activations of 256 values
/// of k stay in the second-level cache from panel to panel. args.sums is [panel, row, 16].
template <typename Unit>
inline void tiled_panels(const LinearArgs& args) {
  auto* tile = reinterpret_cast<TileBlock*>(args.tile);
  const uint64_t blocks = args.depth / kActivationBlock;
  const uint64_t panel_sums = args.num_rows * kRows;
  for (uint64_t i = 0; i < args.num_panels * panel_sums; i += kRows) {
    store(args.sums + i, broadcast(0.0f));
  }
  for (uint64_t block = 0; block < blocks; block += kTileBlocks) {
    const uint64_t count = blocks - block < kTileBlocks ? blocks - block : kTileBlocks;
    for (uint64_t p = 0; p < args.num_panels; ++p) {
      const uint8_t* units = args.weights + (args.first_panel + p) * args.panel_bytes +
                             block / Unit::kBlocks * Unit::kBytes;
      for (uint64_t b = 0; b < count; b += Unit::kBlocks, units += Unit::kBytes) {
        unpack_unit<Unit>(units, tile + b);
      }
      sweep_rows<decltype(sums_of<Unit>())>(args, block, count, args.sums + p * panel_sums);
    }
  }
  for (uint64_t p = 0; p < args.num_panels; ++p) {
    for (uint64_t t = 0; t < args.num_rows; ++t) {
      store_column(args, args.first_panel + p, t, load(args.sums + p * panel_sums + t * kRows));
    }
  }
}

/// Activation rows are read one by one or in groups, as their number says (reads_single_rows,
/// reads_row_groups).
template <typename Unit>
void linear_units(const LinearArgs& args) noexcept {
  constexpr uint64_t kDirectRows = Unit::kCheap ? kCheapDirectRows : 1;
  if (args.num_rows > kDirectRows) return tiled_panels<Unit>(args);
  for (uint64_t p = args.first_panel; p < args.first_panel + args.num_panels; ++p) {
    direct_panel<Unit>(args, p);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
