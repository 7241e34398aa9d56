// Linear kernels over integer panels for several activation rows: 256 values of k of a panel are
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

template <typename Unit>
constexpr auto sums_of() {
  using Weights = typename Unit::Weights;
  if constexpr (std::is_same_v<Weights, Wide>) {
    return Sums<TileDotWide, 8, Unit::kGroup, Unit::kHasOffset>();
  } else {
    constexpr int kAbove = Weights::kLargest - Unit::kBias;
    constexpr int kLargest = kAbove > Unit::kBias ? kAbove : Unit::kBias;
    constexpr int kEvery = tile_settle_every(kLargest);
    return Sums<TileDot, kEvery, Unit::kGroup, Unit::kHasOffset>();
  }
}

/// One block of a tile.
struct TileBlock {
  uint8_t bytes[8][64];  // group of 4 values of k; signed byte 4r + j is row r, k = 4g + j
  int32_t start[2][16];  // scale, row: what the sums of dot products begin with
  float scale[2][16];
  float offset[2][16];
};
constexpr uint32_t kTileBlocks = kTileDepth / kActivationBlock;
static_assert(sizeof(TileBlock) * kTileBlocks <= kTileDepth * kFloatPanelRows * sizeof(float));

template <typename Unit>
inline void unpack_unit(const uint8_t* bytes, TileBlock* tile) {
  using S = decltype(sums_of<Unit>());
  using Dot = typename S::Dot;
  static constexpr uint8_t kBias[4] = {128, 128, 128, 128};
  Unit unit(bytes);
  for (uint32_t b = 0; b < Unit::kBlocks; ++b, ++tile) {
    // Scales first: the other way round g++ 12 at -O3 loses all stores of the portable iq1_s.
    const BlockScales<S> w = block_scales<S>(unit, b);
    for (int h = 0; h < S::kScales; ++h) {
      store(tile->scale[h], w.scale[h]);
      if constexpr (S::kHasOffset) store(tile->offset[h], w.offset[h]);
    }
    Dot sums[S::kScales];
    unit.each(b, [&](auto g, U8x64 unsigned_bytes) {
      const U8x64 weights =
          Unit::kBias == 0 ? unsigned_bytes : subtract(unsigned_bytes, Unit::kBias);
      if constexpr (kPairsOfRows<Dot>) {
        Dot::template store_group<g>(tile->bytes, weights);
      } else {
        store_u8(tile->bytes[g], weights);
      }
      if constexpr (std::is_unsigned_v<typename Dot::Activation>) {
        sums[g / S::kGroups].add(weights, kBias);
        sums[g / S::kGroups].settle();
      }
    });
    for (int h = 0; h < S::kScales; ++h) store_i32(tile->start[h], negative(sums[h].total()));
  }
}

/// Adds num_blocks blocks of a tile, of which the first is `block` of the activations, to the sums
/// [kCols, 16] of rows [t, t + kCols), which are of one group.
template <typename S, int kCols>
inline void sweep(const TileBlock* tile, const QuantRows& rows, uint64_t t, uint64_t block,
                  uint64_t num_blocks, ReadAhead ahead, float* partial) {
  using Dot = typename S::Dot;
  const typename Dot::Activation* q;
  if constexpr (std::is_signed_v<typename Dot::Activation>) {
    q = rows.q;
  } else {
    q = rows.biased;
  }
  constexpr uint64_t kBlockBytes = uint64_t{kActivationBlock} * kRowGroup;
  q += rows.row(t, 4, 4) + block * kBlockBytes;
  const float* d = rows.d + rows.row(t, kActivationBlock) + block * kRowGroup;
  const float* sums = rows.sums + rows.row(t, kActivationBlock) + block * kRowGroup;
  const float* half_sums = rows.half_sums + rows.row(t, kHalfBlock) + 2 * block * kRowGroup;
  // Constant indices: with loops g++ keeps the sums in memory around the blocks.
  F32x16 acc[kCols];
  each_index<kCols>([&](auto c) { acc[c] = load(partial + c * static_cast<int>(kRows)); });
  for (uint64_t b = 0; b < num_blocks; ++b, ++tile) {
    ahead.next();
    BlockScales<S> w;
    for (int h = 0; h < S::kScales; ++h) {
      w.scale[h] = load(tile->scale[h]);
      if constexpr (S::kHasOffset) w.offset[h] = load(tile->offset[h]);
    }
    F32x16 both[kCols];
    each_index<S::kScales>([&](auto h) {
      constexpr int kFirst = S::kGroups * h;
      constexpr int kStride = 4 * static_cast<int>(kRowGroup);
      const I32x16 start = load_i32(tile->start[h]);
      I32x16 totals[kCols];
      if constexpr (kPairsOfRows<Dot>) {
        Dot::template multiply<S::kGroups>(tile->bytes[kFirst], q + kFirst * kStride, kStride,
                                           start, totals);
      } else {
        Dot dots[kCols];
        for (int c = 0; c < kCols; ++c) dots[c] = Dot(start);
        each_index<S::kGroups>([&](auto i) {
          const U8x64 bytes = load_u8(tile->bytes[kFirst + i]);
          for (int c = 0; c < kCols; ++c) {
            dots[c].add(bytes, q + (kFirst + i) * kStride + 4 * c);
            if constexpr ((i + 1) % S::kSettleEvery == 0) dots[c].settle();
          }
        });
        for (int c = 0; c < kCols; ++c) totals[c] = dots[c].total();
      }
      for (int c = 0; c < kCols; ++c) {
        add_dots<S, h>(totals[c], d[c], w, both[c], acc[c]);
      }
    });
    if constexpr (S::kHasOffset) {
      for (int c = 0; c < kCols; ++c) {
        acc[c] = add_offsets<S>(w, sums + c, half_sums + c, kRowGroup, acc[c]);
      }
    }
    q += kBlockBytes;
    d += kRowGroup;
    sums += kRowGroup;
    half_sums += 2 * kRowGroup;
  }
  each_index<kCols>([&](auto c) { store(partial + c * static_cast<int>(kRows), acc[c]); });
}

/// The same from the packed bytes, of whole units: nothing goes through a tile.
template <typename Unit, int kCols>
inline void sweep_packed(const uint8_t* units, const LinearArgs& args, uint64_t t, uint64_t block,
                         uint64_t num_blocks, ReadAhead ahead, float* partial) {
  auto x = activations_at<kCols>(args.quantised, t, block);
  F32x16 acc[kCols];
  each_index<kCols>([&](auto c) { acc[c] = load(partial + c * static_cast<int>(kRows)); });
  for (uint64_t b = 0; b < num_blocks; b += Unit::kBlocks, units += Unit::kBytes) {
    multiply_unit<Unit>(units, ahead, x, acc);
  }
  each_index<kCols>([&](auto c) { store(partial + c * static_cast<int>(kRows), acc[c]); });
}

/// Calls use(t, columns) for sweeps of `columns` rows from row t on, which cover all rows. The last
/// may go over more rows than there are: one that is wider takes less time than several narrow
/// ones.
template <typename Use>
inline void each_sweep(uint64_t num_rows, Use use) {
  static_assert(kRowGroup % kColumns == 0);
  uint64_t t = 0;
  while (t < num_rows) {
    columns_for<kFewestColumns>(num_rows - t, [&](auto columns) {
      use(t, columns);
      t += decltype(columns)::value;
    });
  }
}

/// All activation rows against blocks [block, block + num_blocks), which are in the tile; sums
/// [grouped rows, 16].
template <typename S>
__attribute__((noinline)) void sweep_rows(const LinearArgs& args, uint64_t block,
                                          uint64_t num_blocks, ReadAhead ahead, float* sums) {
  const auto* tile = reinterpret_cast<const TileBlock*>(args.tile);
  each_sweep(args.num_rows, [&](uint64_t t, auto columns) {
    sweep<S, decltype(columns)::value>(tile, args.quantised, t, block, num_blocks, ahead,
                                       sums + t * kRows);
    ahead.block_bytes = 0;
  });
}

/// The same from the packed bytes.
template <typename Unit>
inline void sweep_rows_packed(const uint8_t* units, const LinearArgs& args, uint64_t block,
                              uint64_t num_blocks, ReadAhead ahead, float* sums) {
  each_sweep(args.num_rows, [&](uint64_t t, auto columns) {
    sweep_packed<Unit, decltype(columns)::value>(units, args, t, block, num_blocks, ahead,
                                                 sums + t * kRows);
    ahead.block_bytes = 0;
  });
}

/// Bytes of activations that a run over a panel sweeps: they stay in the second-level cache from
/// panel to panel.
constexpr uint64_t kRunBytes = 128 * 1024;
/// Bytes that sweeps ask for ahead of the tile that comes next.
constexpr uint64_t kSweepPrefetchBytes = 2048;

/// All panels of a call against all activation rows. Panels are read in runs along k: the fewer
/// rows, the longer the runs, as memory likes them. args.sums is [panel, grouped row, 16].
template <typename Unit, bool kByTiles>
inline void sweep_panels(const LinearArgs& args) {
  auto* tile = reinterpret_cast<TileBlock*>(args.tile);
  const uint64_t blocks = args.depth / kActivationBlock;
  const uint64_t panel_sums = grouped_rows(args.num_rows) * kRows;
  for (uint64_t i = 0; i < args.num_panels * panel_sums; i += kRows) {
    store(args.sums + i, broadcast(0.0f));
  }
  const auto units_at = [&](uint64_t p, uint64_t block) {
    return args.weights + (args.first_panel + p) * args.panel_bytes +
           block / Unit::kBlocks * Unit::kBytes;
  };
  const uint64_t tiles = kRunBytes / (args.num_rows * kTileDepth);
  const uint64_t run = (tiles > 1 ? tiles : 1) * kTileBlocks;
  for (uint64_t first = 0; first < blocks; first += run) {
    const uint64_t end = blocks - first < run ? blocks : first + run;
    for (uint64_t p = 0; p < args.num_panels; ++p) {
      for (uint64_t block = first; block < end; block += kTileBlocks) {
        const uint64_t count = end - block < kTileBlocks ? end - block : kTileBlocks;
        const uint64_t behind = block + count;  // and behind a run the same one of the next panel
        const uint8_t* next = behind < end ? units_at(p, behind) : units_at(p + 1, first);
        const ReadAhead ahead{next + kSweepPrefetchBytes, Unit::kBytes / Unit::kBlocks};
        float* sums = args.sums + p * panel_sums;
        if constexpr (kByTiles) {
          for (uint64_t b = 0; b < count; b += Unit::kBlocks) {
            unpack_unit<Unit>(units_at(p, block + b), tile + b);
          }
          sweep_rows<decltype(sums_of<Unit>())>(args, block, count, ahead, sums);
        } else {
          sweep_rows_packed<Unit>(units_at(p, block), args, block, count, ahead, sums);
        }
      }
    }
  }
  for (uint64_t p = 0; p < args.num_panels; ++p) {
    for (uint64_t t = 0; t < args.num_rows; ++t) {
      store_column(args, args.first_panel + p, t, load(args.sums + p * panel_sums + t * kRows));
    }
  }
}

template <typename Unit>
void linear_units(const LinearArgs& args) noexcept {
  if (args.num_rows <= kDirectRows) return direct_rows<Unit>(args);
  if constexpr (kPackedRows > kDirectRows) {
    if (reads_packed(args.num_rows)) return sweep_panels<Unit, false>(args);
  }
  sweep_panels<Unit, true>(args);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
