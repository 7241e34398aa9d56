// Linear kernels over integer panels: 8-bit activations against weights of up to 8 bits. What a
// unit of a panel offers, the arithmetic of a block, and the kernel that multiplies weights as it
// unpacks them. Included by kernels_<isa>.cpp after vec.h.
//
// A unit type (unit_integers.h, unit_codebooks.h) reads one unit of a panel (panels.h):
//   Weights        what its bytes are: Unsigned<largest> or Wide
//   kBias          a weight is scale * (byte - kBias), plus offset where kHasOffset
//   kCheap         unpacking takes a shift and a mask: done again for each few activation rows
//   kBlocks        blocks of 32 values of k in a unit
//   kGroup         values of k with one scale: 16 or 32
//   kBytes         of a unit
//   scale(group)   f32[16] of the rows; with kHasOffset also offset(group, scale)
//   each(b, use)   calls use(g, bytes) for groups g = 0..7 of 4 values of k of block b, in order
//
// For each output and each block of 32 values of k, in order, however many rows a call covers:
//   one scale:   acc = fma(scale, fma(d[1], dot[1], d[0] * dot[0]), acc)
//   two scales:  acc = fma(scale[h], d[h] * dot[h], acc) for each half h of 16
//   offsets:     acc = fma(offset, sum of d q, acc)                       (per scale)
// where dot[h] is the sum of (byte - kBias) q of the half, exact in integers, and d[h] the half's
// activation scale.
#pragma once

#include <type_traits>
#include <utility>

#include "backends/cpu/kernels.h"
#include "backends/cpu/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr uint32_t kRows = kIntegerPanelRows;
/// Bytes ahead of the read position that the kernels ask the cache for: about the latency of memory
/// times the rate of one core.
constexpr uint64_t kPrefetchBytes = 1536;

template <typename F, int... kIndex>
inline void each_index(F f, std::integer_sequence<int, kIndex...>) {
  (f(std::integral_constant<int, kIndex>()), ...);
}
/// f(0), ..., f(kCount - 1) with compile-time constants.
template <int kCount, typename F>
inline void each_index(F f) {
  each_index(f, std::make_integer_sequence<int, kCount>());
}

/// Bytes 0..largest.
template <int kLargestByte>
struct Unsigned {
  using Dot = DotU8;
  static constexpr int kLargest = kLargestByte;
  static constexpr int kSettleEvery = settle_every(kLargest);
};
/// Any value of eight bits, as w + kWideBias.
struct Wide {
  using Dot = DotWide;
  static constexpr int kSettleEvery = 4;  // settles by itself
};

/// The scales and offsets of one block, by half; with one scale both halves have the same.
struct BlockScales {
  F32x16 scale[2], offset[2];
};

template <typename Unit>
inline BlockScales block_scales(const Unit& unit, uint32_t b) {
  constexpr bool kOneScale = Unit::kGroup == kActivationBlock;
  BlockScales w;
  for (uint32_t h = 0; h < 2; ++h) {
    if (kOneScale && h == 1) {
      w.scale[1] = w.scale[0];
      w.offset[1] = w.offset[0];
      break;
    }
    const uint32_t group = kOneScale ? b : 2 * b + h;
    w.scale[h] = unit.scale(group);
    if constexpr (Unit::kHasOffset) {
      w.offset[h] = unit.offset(group, w.scale[h]);
    } else {
      w.offset[h] = broadcast(0.0f);
    }
  }
  return w;
}

/// The activation rows of the columns taken at once.
template <int kCols>
struct Columns {
  const int8_t* q[kCols];
  const float* d[kCols];
  const float* sums[kCols];
  const float* block_sums[kCols];
  const int32_t* totals[kCols];
  /// Columns behind the last row read that one again.
  Columns(const QuantRows& rows, uint64_t first) {
    for (int c = 0; c < kCols; ++c) {
      const uint64_t row = first + static_cast<uint64_t>(c);
      const uint64_t t = row < rows.num_rows ? row : rows.num_rows - 1;
      const uint64_t scales = t * (rows.columns / kScaleBlock);
      q[c] = rows.q + t * rows.columns;
      d[c] = rows.d + scales;
      sums[c] = rows.sums + scales;
      block_sums[c] = rows.block_sums + scales / 2;
      totals[c] = rows.totals + scales;
    }
  }
};

/// Adds the dot products of half kHalf of a block. `first` keeps what half 0 leaves for half 1.
template <uint32_t kGroup, int kHalf>
inline void add_half(I32x16 dots, float d, const BlockScales& w, F32x16& first, F32x16& acc) {
  if constexpr (kGroup == kScaleBlock) {
    acc = fma(w.scale[kHalf], mul(to_f32(dots), broadcast(d)), acc);
  } else if constexpr (kHalf == 0) {
    first = mul(to_f32(dots), broadcast(d));
  } else {
    acc = fma(w.scale[0], fma(to_f32(dots), broadcast(d), first), acc);
  }
}

/// Adds the offsets of a block.
template <uint32_t kGroup>
inline F32x16 add_offsets(const BlockScales& w, float first_sum, float second_sum, float block_sum,
                          F32x16 acc) {
  if constexpr (kGroup == kActivationBlock) return fma(w.offset[0], broadcast(block_sum), acc);
  acc = fma(w.offset[0], broadcast(first_sum), acc);
  return fma(w.offset[1], broadcast(second_sum), acc);
}

/// Adds the block of which `unit` has the weights to the sums of kCols activation rows.
template <int kCols, typename Unit>
inline void add_block(Unit& unit, uint32_t b, const Columns<kCols>& x, uint64_t block,
                      F32x16 (&acc)[kCols]) {
  using Weights = typename Unit::Weights;
  const BlockScales w = block_scales(unit, b);
  typename Weights::Dot dots[kCols];
  F32x16 first[kCols];
  unit.each(b, [&](auto g, U8x64 bytes) {
    constexpr int kHalf = g / 4;
    for (int c = 0; c < kCols; ++c) {
      if constexpr (g % 4 == 0) {
        dots[c] = typename Weights::Dot(-Unit::kBias * x.totals[c][2 * block + kHalf]);
      }
      dots[c].add(bytes, x.q[c] + block * kActivationBlock + 4 * g);
      if constexpr ((g + 1) % Weights::kSettleEvery == 0) dots[c].settle();
      if constexpr (g % 4 == 3) {
        add_half<Unit::kGroup, kHalf>(dots[c].total(), x.d[c][2 * block + kHalf], w, first[c],
                                      acc[c]);
      }
    }
  });
  if constexpr (Unit::kHasOffset) {
    for (int c = 0; c < kCols; ++c) {
      const float* sums = x.sums[c] + 2 * block;
      acc[c] = add_offsets<Unit::kGroup>(w, sums[0], sums[1], x.block_sums[c][block], acc[c]);
    }
  }
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

/// One panel against activation rows [t, t + kCols).
template <typename Unit, int kCols>
inline void direct_columns(const LinearArgs& args, uint64_t p, uint64_t t) {
  constexpr uint64_t kBlockBytes = Unit::kBytes / Unit::kBlocks;
  const uint8_t* panel = args.weights + p * args.panel_bytes;
  const Columns<kCols> x(args.quantised, t);
  F32x16 acc[kCols];
  for (F32x16& a : acc) a = broadcast(0.0f);
  const uint64_t blocks = args.depth / kActivationBlock;
  for (uint64_t block = 0; block < blocks; panel += Unit::kBytes) {
    Unit unit(panel);
    for (uint32_t b = 0; b < Unit::kBlocks; ++b, ++block) {
      for (uint64_t line = 0; line < kBlockBytes; line += 64) {
        __builtin_prefetch(panel + b * kBlockBytes + kPrefetchBytes + line);
      }
      add_block<kCols>(unit, b, x, block, acc);
    }
  }
  for (uint64_t c = 0; c < kCols && t + c < args.num_rows; ++c)
    store_column(args, p, t + c, acc[c]);
}

/// One panel against all activation rows, a few at a time: in as few passes over the panel as it
/// takes, as unpacking costs more than a column that is not needed.
template <typename Unit>
inline void direct_panel(const LinearArgs& args, uint64_t p) {
  const auto columns = [&](auto count, uint64_t t) {
    direct_columns<Unit, decltype(count)::value>(args, p, t);
  };
  for (uint64_t t = 0; t < args.num_rows; t += Unit::kCheap ? kColumns : 1) {
    const uint64_t left = args.num_rows - t;
    if (!Unit::kCheap || left == 1) {
      columns(std::integral_constant<int, 1>(), t);
    } else if constexpr (Unit::kCheap) {
      if (left <= 2) {
        columns(std::integral_constant<int, 2>(), t);
      } else if (left <= 4) {
        columns(std::integral_constant<int, 4>(), t);
      } else {
        columns(std::integral_constant<int, kColumns>(), t);
      }
    }
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
