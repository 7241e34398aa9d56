// Linear kernels over integer panels for several activation rows: some values of k of a panel, or
// of two, are unpacked once into a tile of signed bytes, and all activation rows are multiplied
// with it. The tile stays in the first-level cache, and the micro-kernel is the same code for all
// formats whose sums need the same room. Terms as in BLIS (Van Zee, van de Geijn 2015): the
// micro-kernel keeps its sums in registers, the macro-kernel runs it over the rows of a tile.
// Included by kernels_<isa>.cpp after vec.h.
//
// kernel_integer.h has the arithmetic. Where the dot products of an instruction set want one side
// unsigned, the micro-kernel reads q + 128, and its sums start at -128 times the sum of the
// weights, which the tile keeps: the integers are the same.
#pragma once

#include <iterator>

#include "backends/cpu/kernels/kernel_integer.h"
#include "backends/cpu/kernels/kernel_quantise.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// True if a tile block interleaves eight values of k of two rows, for matrix instructions.
template <typename Dot>
constexpr bool kPairsOfRows = requires {
  Dot::kPairsOfRows;
};

/// True if sums are int16, in parts of a block (dots_avx2.h).
template <typename Dot>
constexpr bool kInParts = requires {
  typename Dot::Start;
};

template <typename PanelBlock>
constexpr auto sums_of() {
  using Weights = typename PanelBlock::Weights;
  if constexpr (std::is_same_v<Weights, Wide>) {
    return Sums<TileDotWide, 8, PanelBlock::kGroup, PanelBlock::kHasOffset>();
  } else {
    constexpr int kAbove = Weights::kLargest - PanelBlock::kBias;
    constexpr int kLargest = kAbove > PanelBlock::kBias ? kAbove : PanelBlock::kBias;
    constexpr int kEvery = tile_settle_every(kLargest);
    return Sums<TileDot, kEvery, PanelBlock::kGroup, PanelBlock::kHasOffset>();
  }
}

/// Start value of dot products: what unsigned activations add to those with q.
template <typename Dot>
struct TileStart {
  Dot sum;
  void add(U8x64 w) {
    static constexpr uint8_t kBias[4] = {128, 128, 128, 128};
    if constexpr (std::is_unsigned_v<typename Dot::Activation>) {
      sum.add(w, kBias);
      sum.settle();
    }
  }
  void store(int32_t* p) const { store_i32(p, negative(sum.total())); }
};
template <typename Dot>
requires kInParts<Dot>
struct TileStart<Dot> : Dot::Start {
};

/// Groups of 4 values of k that share a start value.
template <typename S>
constexpr int kStartGroups = kInParts<typename S::Dot> ? S::kSettleEvery : S::kGroups;

/// A block of one panel of a tile. Blocks of a tile's panels alternate.
struct TileBlock {
  uint8_t bytes[8][64];  // group of 4 values of k; signed byte 4r + j is row r, k = 4g + j
  int32_t start[4][16];  // start values of the dot products: scale, row; or part, two per row
  float scale[2][16];
  float offset[2][16];
};
constexpr uint32_t kTileBlocks = kByteTileDepth / kActivationBlock;
static_assert(sizeof(TileBlock) * kTileBlocks * kTilePanels <=
              kTileDepth * kFloatPanelRows * sizeof(float));

/// Unpacks the blocks of a panel block into every `step`-th block of the tile.
template <typename PanelBlock>
inline void unpack_block(const uint8_t* bytes, TileBlock* tile, int step) {
  using S = decltype(sums_of<PanelBlock>());
  using Dot = typename S::Dot;
  PanelBlock panel_block(bytes);
  for (uint32_t b = 0; b < PanelBlock::kBlocks; ++b, tile += step) {
    // Scales first: in the other order g++ 12 at -O3 drops all stores of the portable iq1_s.
    const BlockScales<S> w = block_scales<S>(panel_block, b);
    for (int h = 0; h < S::kScales; ++h) {
      store(tile->scale[h], w.scale[h]);
      if constexpr (S::kHasOffset) store(tile->offset[h], w.offset[h]);
    }
    static_assert(8 / kStartGroups<S> <= std::size(TileBlock().start));
    TileStart<Dot> starts[8 / kStartGroups<S>];
    panel_block.each(b, [&](auto g, U8x64 unsigned_bytes) {
      const U8x64 weights =
          PanelBlock::kBias == 0 ? unsigned_bytes : subtract(unsigned_bytes, PanelBlock::kBias);
      if constexpr (kPairsOfRows<Dot>) {
        Dot::template store_group<g>(tile->bytes, weights);
      } else {
        store_u8(tile->bytes[g], weights);
      }
      starts[g / kStartGroups<S>].add(weights);
    });
    each_index<8 / kStartGroups<S>>([&](auto i) { starts[i].store(tile->start[i]); });
  }
}

/// Adds num_blocks blocks of a tile of kPanels panels, beginning at activation block `block`, to
/// the results of rows [t, t + kCols) from panel p on. The rows belong to one group.
template <typename S, int kPanels, int kCols>
inline void micro_kernel(const LinearArgs& args, uint64_t p, uint64_t t, uint64_t block,
                         uint64_t num_blocks) {
  const auto* tile = reinterpret_cast<const TileBlock*>(args.tile);
  const QuantRows& rows = args.quantised;
  using Dot = typename S::Dot;
  const typename Dot::Activation* q;
  if constexpr (std::is_signed_v<typename Dot::Activation>) {
    q = rows.q;
  } else {
    q = rows.biased;
  }
  constexpr uint64_t kBlockBytes = uint64_t{kActivationBlock} * kRowInterleave;
  q += rows.row(t, 4, 4) + block * kBlockBytes;
  const float* d = rows.d + rows.row(t, kActivationBlock) + block * kRowInterleave;
  const float* sums = rows.sums + rows.row(t, kActivationBlock) + block * kRowInterleave;
  const float* half_sums = rows.half_sums + rows.row(t, kHalfBlock) + 2 * block * kRowInterleave;
  // Constant indices: with loops, g++ keeps the sums in memory.
  F32x16 acc[kPanels][kCols];
  const auto each_sum = [&](auto use) TENON_INLINED {
    each_index<kPanels>([&](auto i) TENON_INLINED {
      each_index<kCols>([&](auto c)
                            TENON_INLINED { use(acc[i][c], results_at(args, p + i, t + c)); });
    });
  };
  each_sum([&](F32x16& sum, const float* y)
               TENON_INLINED { sum = block == 0 ? broadcast(0.0f) : load(y); });
  for (uint64_t b = 0; b < num_blocks; ++b, tile += kPanels) {
    BlockScales<S> w[kPanels];
    for (int j = 0; j < kPanels; ++j) {
      for (int h = 0; h < S::kScales; ++h) {
        w[j].scale[h] = load(tile[j].scale[h]);
        if constexpr (S::kHasOffset) w[j].offset[h] = load(tile[j].offset[h]);
      }
    }
    F32x16 both[kPanels][kCols];
    each_index<S::kScales>([&](auto h) TENON_INLINED {
      constexpr int kFirst = S::kGroups * h;
      constexpr int kStride = 4 * static_cast<int>(kRowInterleave);
      I32x16 totals[kPanels][kCols];
      if constexpr (kPairsOfRows<Dot>) {
        for (int j = 0; j < kPanels; ++j) {
          Dot::template multiply<S::kGroups>(tile[j].bytes[kFirst], q + kFirst * kStride, kStride,
                                             load_i32(tile[j].start[h]), totals[j]);
        }
      } else {
        each_index<S::kGroups / kStartGroups<S>>([&](auto part) TENON_INLINED {
          constexpr int kPart = kFirst + part * kStartGroups<S>;
          Dot dots[kPanels][kCols];
          each_index<kPanels>([&](auto j) TENON_INLINED {
            const I32x16 start = load_i32(tile[j].start[kPart / kStartGroups<S>]);
            each_index<kCols>([&](auto c) TENON_INLINED { dots[j][c] = Dot(start); });
          });
          each_index<kStartGroups<S>>([&](auto i) TENON_INLINED {
            U8x64 bytes[kPanels];
            for (int j = 0; j < kPanels; ++j) bytes[j] = load_u8(tile[j].bytes[kPart + i]);
            each_index<kCols>([&](auto c) TENON_INLINED {
              each_index<kPanels>([&](auto j) TENON_INLINED {
                dots[j][c].add(bytes[j], q + (kPart + i) * kStride + 4 * c);
              });
            });
          });
          each_index<kPanels>([&](auto j) TENON_INLINED {
            each_index<kCols>([&](auto c) TENON_INLINED {
              const I32x16 total = dots[j][c].total();
              totals[j][c] = part == 0 ? total : add(totals[j][c], total);
            });
          });
        });
      }
      each_index<kPanels>([&](auto j) TENON_INLINED {
        each_index<kCols>([&](auto c) TENON_INLINED {
          add_dots<S, h>(totals[j][c], d[c], w[j], both[j][c], acc[j][c]);
        });
      });
    });
    if constexpr (S::kHasOffset) {
      each_index<kPanels>([&](auto j) TENON_INLINED {
        each_index<kCols>([&](auto c) TENON_INLINED {
          acc[j][c] = add_offsets<S>(w[j], sums + c, half_sums + c, kRowInterleave, acc[j][c]);
        });
      });
    }
    q += kBlockBytes;
    d += kRowInterleave;
    sums += kRowInterleave;
    half_sums += 2 * kRowInterleave;
  }
  each_sum([](F32x16 sum, float* y) TENON_INLINED { store(y, sum); });
}

/// Calls use(t, columns) for blocks of rows that cover all rows. The last block may extend past the
/// end: a wide block takes less time than several narrow ones.
template <int kPanels, int kFewest = kFewestColumns, typename Use>
inline void each_row_block(uint64_t num_rows, Use use) {
  static_assert(kRowInterleave % kColumns == 0 && kColumns % kTileColumns == 0);
  uint64_t t = 0;
  while (t < num_rows) {
    const auto next = [&](auto columns) {
      use(t, columns);
      t += decltype(columns)::value;
    };
    if constexpr (kPanels > 1) {
      next(std::integral_constant<int, kTileColumns>());
    } else {
      columns_for<kFewest>(num_rows - t, next);
    }
  }
}

/// Weights of the next tile. Each micro-kernel prefetches its share, so that memory transfers
/// overlap computation.
template <int kPanels>
struct TileAhead {
  const uint8_t* panel[kPanels];
  uint64_t bytes;                ///< per panel
  uint64_t line = 0, share = 0;  ///< per panel: next line, lines per call
  void share_among(uint64_t calls) {
    share = calls > 1 ? (bytes / 64 + calls - 1) / calls : bytes / 64;
  }
  void next() {
    const uint64_t lines = bytes / 64;
    const uint64_t end = lines - line < share ? lines : line + share;
    for (; line < end; ++line) {
      for (const uint8_t* of : panel) __builtin_prefetch(of + 64 * line);
    }
  }
};

/// Multiplies all activation rows with blocks [block, block + num_blocks) of the tile's panels,
/// from panel p on.
template <typename S, int kPanels>
__attribute__((noinline)) void macro_kernel(const LinearArgs& args, uint64_t p, uint64_t block,
                                            uint64_t num_blocks, TileAhead<kPanels> ahead) {
  ahead.share_among(args.num_rows / (kPanels > 1 ? kTileColumns : kColumns));
  each_row_block<kPanels>(args.num_rows, [&](uint64_t t, auto columns) {
    constexpr int kCols = decltype(columns)::value;
    ahead.next();
    micro_kernel<S, kPanels, kCols>(args, p, t, block, num_blocks);
  });
}

/// Like macro_kernel, from the packed bytes. Rows are interleaved: there is no block of one row.
template <typename PanelBlock>
inline void macro_kernel_packed(const uint8_t* panel_blocks, const LinearArgs& args, uint64_t p,
                                uint64_t block, uint64_t num_blocks, ReadAhead ahead) {
  constexpr int kFewest = kFewestColumns > 2 ? kFewestColumns : 2;
  each_row_block<1, kFewest>(args.num_rows, [&](uint64_t t, auto columns) {
    micro_kernel_packed<PanelBlock, decltype(columns)::value>(panel_blocks, args, p, t, block,
                                                              num_blocks, ahead);
    ahead.block_bytes = 0;
  });
}

/// Bytes of activations per run over a panel: they stay in the second-level cache between panels.
constexpr uint64_t kRunBytes = 128 * 1024;
/// Bytes prefetched ahead of the next tile.
constexpr uint64_t kTilePrefetchBytes = 2048;

/// A range of k that all panels of a call process before the next range.
struct Run {
  uint64_t first, end;  ///< blocks of 32 values of k
};

/// Multiplies kPanels panels from panel p on over a run.
template <typename PanelBlock, bool kByTiles, int kPanels>
inline void multiply_run(const LinearArgs& args, Run run, uint64_t p) {
  const auto panel_block_at = [&](uint64_t panel, uint64_t block) {
    return args.weights + (args.first_panel + panel) * args.panel_bytes +
           block / PanelBlock::kBlocks * PanelBlock::kBytes;
  };
  for (uint64_t block = run.first; block < run.end; block += kTileBlocks) {
    const uint64_t count = run.end - block < kTileBlocks ? run.end - block : kTileBlocks;
    const uint64_t after = block + count;  // after a run: the same block of the next panels
    const uint64_t bytes = count * (PanelBlock::kBytes / PanelBlock::kBlocks);
    TileAhead<kPanels> ahead{{}, bytes};
    for (int i = 0; i < kPanels; ++i) {
      ahead.panel[i] =
          kTilePrefetchBytes + (after < run.end ? panel_block_at(p + i, after)
                                                : panel_block_at(p + kPanels + i, run.first));
    }
    if constexpr (kByTiles) {
      auto* tile = reinterpret_cast<TileBlock*>(args.tile);
      for (int i = 0; i < kPanels; ++i) {
        for (uint64_t b = 0; b < count; b += PanelBlock::kBlocks) {
          unpack_block<PanelBlock>(panel_block_at(p + i, block + b), tile + b * kPanels + i,
                                   kPanels);
        }
      }
      macro_kernel<decltype(sums_of<PanelBlock>()), kPanels>(args, p, block, count, ahead);
    } else {
      const ReadAhead packed{ahead.panel[0], PanelBlock::kBytes / PanelBlock::kBlocks};
      macro_kernel_packed<PanelBlock>(panel_block_at(p, block), args, p, block, count, packed);
    }
  }
}

/// Calls use(run) for all runs of a call. Fewer rows allow longer runs, which suit memory. `values`
/// is the number of activation values that stay in the second-level cache, kDepth the values of k
/// of a tile.
template <uint32_t kDepth, typename Use>
inline void each_run(const LinearArgs& args, uint64_t values, Use use) {
  const uint64_t blocks = args.depth / kActivationBlock;
  const uint64_t tiles = values / (args.num_rows * kDepth);
  const uint64_t length = (tiles > 1 ? tiles : 1) * (kDepth / kActivationBlock);
  for (uint64_t first = 0; first < blocks; first += length) {
    use(Run{first, blocks - first < length ? blocks : first + length});
  }
}

/// Multiplies all panels of a call with all activation rows.
template <typename PanelBlock, bool kByTiles>
inline void multiply_panels(const LinearArgs& args) {
  constexpr int kPanels = kByTiles ? kTilePanels : 1;
  each_run<kByteTileDepth>(args, kRunBytes, [&](Run run) {
    uint64_t p = 0;
    for (; p + kPanels <= args.num_panels; p += kPanels) {
      multiply_run<PanelBlock, kByTiles, kPanels>(args, run, p);
    }
    if constexpr (kPanels > 1) {
      for (; p < args.num_panels; ++p) multiply_run<PanelBlock, kByTiles, 1>(args, run, p);
    }
  });
}

template <typename PanelBlock>
void linear_blocks(const LinearArgs& args) noexcept {
  if (args.num_rows <= kDirectRows) return direct_rows<PanelBlock>(args);
  if constexpr (kPackedRows > kDirectRows && (!kKeepsBoth || unpacks_fast<PanelBlock>())) {
    if (args.num_rows <= kPackedRows) return multiply_panels<PanelBlock, false>(args);
  }
  multiply_panels<PanelBlock, true>(args);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
