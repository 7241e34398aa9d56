// Linear kernels over integer panels whose weights take more than a shift to unpack. One activation
// row is multiplied in registers; for more, 256 values of k of a panel are unpacked once into a
// tile of bytes, and all activation rows sweep over it. Included by kernels_<isa>.cpp after vec.h.
//
// A unit type (unit_integers.h, unit_codebooks.h) reads one unit of a panel (panels.h):
//   Weights        what its bytes are: Unsigned<largest> or Wide
//   kBlocks        blocks of 32 values of k in a unit
//   kGroup         values of k with one scale: 16 or 32
//   kBytes         of a unit
//   scale(group)   f32[16] of the rows; offset(group, scale): what a weight is besides scale * byte
//   each(b, use)   calls use(g, bytes) for groups g = 0..7 of 4 values of k of block b, in order
//
// For each output and each block of 32 values of k, in order, with one row and with many:
//   for each half h of 16:  acc = fma(float(sum q_w q_a), scale_w * d_a[h], acc)
//   then                    acc = fma(offset_w, sum of d_a q_a, acc)          (per scale group)
#pragma once

#include <type_traits>

#include "backends/cpu/kernel_integer.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Bytes 0..kLargest.
template <int kLargest>
struct Unsigned {
  using Dot = DotU8;
  static constexpr int kSettleEvery = settle_every(kLargest);
};
/// Any value of eight bits, as w + kWideBias.
struct Wide {
  using Dot = DotWide;
  static constexpr int kSettleEvery = 4;  // settles by itself
};
/// What the weights of a sweep differ by: all formats with the same share its code.
template <typename D, int kEvery>
struct Sums {
  using Dot = D;
  static constexpr int kSettleEvery = kEvery;
};
template <typename Weights>
using SumsOf = Sums<typename Weights::Dot, Weights::kSettleEvery>;

/// The scales and offsets of one block, by half; with one group both halves have the same.
struct BlockScales {
  F32x16 scale[2], offset[2];
};

/// Adds one block to the sums of one activation row.
template <uint32_t kGroup>
inline F32x16 add_scaled(F32x16 acc, const I32x16 (&dots)[2], const BlockScales& w, const float* d,
                         const float* sums) {
  acc = fma(to_f32(dots[0]), mul(w.scale[0], broadcast(d[0])), acc);
  acc = fma(to_f32(dots[1]), mul(w.scale[1], broadcast(d[1])), acc);
  if constexpr (kGroup == kActivationBlock) {
    return fma(w.offset[0], broadcast(sums[0] + sums[1]), acc);
  } else {
    acc = fma(w.offset[0], broadcast(sums[0]), acc);
    return fma(w.offset[1], broadcast(sums[1]), acc);
  }
}

template <typename Unit>
inline BlockScales block_scales(const Unit& unit, uint32_t b) {
  BlockScales w;
  if constexpr (Unit::kGroup == kActivationBlock) {
    w.scale[0] = w.scale[1] = unit.scale(b);
    w.offset[0] = w.offset[1] = unit.offset(b, w.scale[0]);
  } else {
    for (uint32_t h = 0; h < 2; ++h) {
      w.scale[h] = unit.scale(2 * b + h);
      w.offset[h] = unit.offset(2 * b + h, w.scale[h]);
    }
  }
  return w;
}

/// One panel against one activation row.
template <typename Unit>
inline F32x16 one_row(const uint8_t* panel, const int8_t* q, const float* d, const float* sums,
                      uint64_t depth) {
  using Weights = typename Unit::Weights;
  constexpr uint64_t kBlockBytes = Unit::kBytes / Unit::kBlocks;
  F32x16 acc = broadcast(0.0f);
  for (uint64_t k = 0; k < depth; panel += Unit::kBytes) {
    Unit unit(panel);
    for (uint32_t b = 0; b < Unit::kBlocks; ++b, k += kActivationBlock) {
      for (uint64_t line = 0; line < kBlockBytes; line += 64) {
        __builtin_prefetch(panel + b * kBlockBytes + kPrefetchBytes + line);
      }
      typename Weights::Dot dots[2];
      unit.each(b, [&](auto g, U8x64 w) {
        typename Weights::Dot& dot = dots[g / 4];
        dot.add(w, q + k + 4 * g);
        if constexpr ((g + 1) % Weights::kSettleEvery == 0) dot.settle();
      });
      const I32x16 totals[2] = {dots[0].total(), dots[1].total()};
      const uint64_t s = k / kScaleBlock;
      acc = add_scaled<Unit::kGroup>(acc, totals, block_scales(unit, b), d + s, sums + s);
    }
  }
  return acc;
}

/// One block of a tile.
struct TileBlock {
  uint8_t bytes[8][64];  // group of 4 values of k; byte 4r + j is row r, k = 4g + j
  float scale[2][16];    // half, row
  float offset[2][16];
};
constexpr uint32_t kTileBlocks = kTileDepth / kActivationBlock;
static_assert(sizeof(TileBlock) * kTileBlocks <= kTileDepth * kFloatPanelRows * sizeof(float));

template <typename Unit>
inline void unpack_unit(const uint8_t* bytes, TileBlock* tile) {
  Unit unit(bytes);
  for (uint32_t b = 0; b < Unit::kBlocks; ++b, ++tile) {
    for (uint64_t line = 0; line < Unit::kBytes / Unit::kBlocks; line += 64) {
      __builtin_prefetch(bytes + (b + Unit::kBlocks) * (Unit::kBytes / Unit::kBlocks) + line);
    }
    // Scales first: the other way round g++ 12 at -O3 loses all stores of the portable iq1_s.
    const BlockScales w = block_scales(unit, b);
    for (int h = 0; h < 2; ++h) {
      store(tile->scale[h], w.scale[h]);
      store(tile->offset[h], w.offset[h]);
    }
    unit.each(b, [&](auto g, U8x64 bytes_of_group) { store_u8(tile->bytes[g], bytes_of_group); });
  }
}

/// Adds num_blocks blocks of a tile, of which the first is `block` of the activations, to the sums
/// [kCols, 16] of the columns.
template <typename Sums, uint32_t kGroup, int kCols>
inline void sweep(const TileBlock* tile, const Columns<kCols>& x, uint64_t block,
                  uint64_t num_blocks, float* partial) {
  F32x16 acc[kCols];
  for (int c = 0; c < kCols; ++c) acc[c] = load(partial + c * kRows);
  for (uint64_t end = block + num_blocks; block < end; ++block, ++tile) {
    const BlockScales w = {{load(tile->scale[0]), load(tile->scale[1])},
                           {load(tile->offset[0]), load(tile->offset[1])}};
    for (int h = 0; h < 2; ++h) {
      typename Sums::Dot dots[kCols];
      for (int g = 0; g < 4; ++g) {
        const U8x64 bytes = load_u8(tile->bytes[4 * h + g]);
        for (int c = 0; c < kCols; ++c) {
          dots[c].add(bytes, x.q[c] + block * kActivationBlock + 16 * h + 4 * g);
          if ((g + 1) % Sums::kSettleEvery == 0) dots[c].settle();
        }
      }
      for (int c = 0; c < kCols; ++c) {
        acc[c] =
            fma(to_f32(dots[c].total()), mul(w.scale[h], broadcast(x.d[c][2 * block + h])), acc[c]);
      }
    }
    for (int c = 0; c < kCols; ++c) {
      const float* sums = x.sums[c] + 2 * block;
      if constexpr (kGroup == kActivationBlock) {
        acc[c] = fma(w.offset[0], broadcast(sums[0] + sums[1]), acc[c]);
      } else {
        acc[c] = fma(w.offset[0], broadcast(sums[0]), acc[c]);
        acc[c] = fma(w.offset[1], broadcast(sums[1]), acc[c]);
      }
    }
  }
  for (int c = 0; c < kCols; ++c) store(partial + c * kRows, acc[c]);
}

/// All activation rows against blocks [block, block + num_blocks), which are in the tile.
template <typename Sums, uint32_t kGroup>
__attribute__((noinline)) void sweep_rows(const LinearArgs& args, uint64_t block,
                                          uint64_t num_blocks) {
  const auto* tile = reinterpret_cast<const TileBlock*>(args.tile);
  uint64_t t = 0;
  const auto columns = [&](auto count) {
    constexpr int kCols = decltype(count)::value;
    for (; t + kCols <= args.num_rows; t += kCols) {
      sweep<Sums, kGroup, kCols>(tile, Columns<kCols>(args.quantised, t), block, num_blocks,
                                 args.sums + t * kRows);
    }
  };
  columns(std::integral_constant<int, kColumns>());
  if constexpr (kColumns > 4) columns(std::integral_constant<int, 4>());
  columns(std::integral_constant<int, 2>());
  columns(std::integral_constant<int, 1>());
}

inline void store_column(const LinearArgs& args, uint64_t panel, uint64_t t, F32x16 sums) {
  const uint64_t first = panel * kRows;
  const uint64_t valid = args.weight_rows - first < kRows ? args.weight_rows - first : kRows;
  float* y = args.y + t * args.y_stride + first - args.first_panel * kRows;
  if (valid == kRows) {
    store(y, sums);
  } else {
    store_part(y, sums, valid);
  }
}

template <typename Unit>
void linear_tiled(const LinearArgs& args) noexcept {
  for (uint64_t p = args.first_panel; p < args.first_panel + args.num_panels; ++p) {
    const uint8_t* panel = args.weights + p * args.panel_bytes;
    const QuantRows& x = args.quantised;
    if (args.num_rows == 1) {
      store_column(args, p, 0,
                   one_row<Unit>(panel, x.q_row(0), x.d_row(0), x.sums_row(0), args.depth));
      continue;
    }
    for (uint64_t i = 0; i < args.num_rows; ++i) store(args.sums + i * kRows, broadcast(0.0f));
    auto* tile = reinterpret_cast<TileBlock*>(args.tile);
    const uint64_t blocks = args.depth / kActivationBlock;
    for (uint64_t block = 0; block < blocks; block += kTileBlocks) {
      const uint64_t count = blocks - block < kTileBlocks ? blocks - block : kTileBlocks;
      for (uint64_t b = 0; b < count; b += Unit::kBlocks, panel += Unit::kBytes) {
        unpack_unit<Unit>(panel, tile + b);
      }
      sweep_rows<SumsOf<typename Unit::Weights>, Unit::kGroup>(args, block, count);
    }
    for (uint64_t t = 0; t < args.num_rows; ++t) {
      store_column(args, p, t, load(args.sums + t * kRows));
    }
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
