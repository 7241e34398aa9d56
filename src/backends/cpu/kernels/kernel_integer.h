// Linear kernels over integer panels: 8-bit activations times weights of up to 8 bits. Defines the
// interface of panel blocks, the arithmetic of a block, and the kernel for few rows, which
// multiplies weights while unpacking. Included by kernels_<isa>.cpp after vec.h.
//
// A panel block type (panel_blocks_integer.h, panel_blocks_codebook.h) reads one panel block of a
// panel (panels.h):
//   Weights        range of its bytes: Unsigned<largest> or Wide
//   kBias          a weight is scale * (byte - kBias), plus offset where kHasOffset
//   kBlocks        blocks of 32 values of k in a panel block
//   kGroup         values of k with one scale: 16 or 32
//   kBytes         of a panel block
//   scale(group)   f32[16] of the rows; with kHasOffset also offset(group, scale)
//   each(b, use)   calls use(g, bytes) for groups g = 0..7 of 4 values of k of block b, in order
//   kUnpacksFast   true if unpacking takes few operations; false if it is missing
// and, if a part of the weights is shared by eight values of k:
//   each_part(b, use)    the bytes without that part
//   rest(b, h, totals)   i32[16] what that part and the bias add to the dot product of scale h of
//                        block b
// and, for bytes that are two-bit codes, times kCodeUnit:
//   each_in_place(b, use)  the codes, but four times those of odd groups
//
// For each output and each block of 32 values of k, in order, however many rows a call covers:
//   one scale:   acc = fma(dot, d * scale, acc)
//   two scales:  acc = fma(d, fma(scale[1], dot[1], scale[0] * dot[0]), acc)
//   offsets:     acc = fma(offset, d * sum of q, acc)                     (per scale)
// where dot is the sum of (byte - kBias) q over the values of the scale, exact in integers, and d
// the block's activation scale.
#pragma once

#include <type_traits>
#include <utility>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr uint32_t kRows = kIntegerPanelRows;
/// Prefetch distance of the direct kernels in bytes, a small page. Latency times the rate of one
/// core is half of that, but processors predict badly with several streams or panel blocks that
/// straddle lines.
constexpr uint64_t kPrefetchBytes = 4096;

/// After the parameters of a lambda: always inlines it. g++ gives up in large kernels, and sums
/// that a lambda refers to would then be in memory.
#define TENON_INLINED __attribute__((always_inline))

template <typename F, int... kIndex>
[[gnu::always_inline]] inline void each_index(F f, std::integer_sequence<int, kIndex...>) {
  (f(std::integral_constant<int, kIndex>()), ...);
}
/// f(0), ..., f(kCount - 1) with compile-time constants.
template <int kCount, typename F>
[[gnu::always_inline]] inline void each_index(F f) {
  each_index(f, std::make_integer_sequence<int, kCount>());
}

/// Calls use(columns) with the fastest number of columns, at least kFewest, for `rows` rows or the
/// first of them.
template <int kFewest, typename Use>
inline void columns_for(uint64_t rows, Use use) {
  static_assert(kColumns == 4 || kColumns == 8);
  if constexpr (kColumns == 8) {
    if (rows > 6) return use(std::integral_constant<int, 8>());
    if (rows > 4) return use(std::integral_constant<int, 6>());
  }
  if constexpr (kThreeColumns && kFewest <= 2) {
    // Without a kernel of one column, five rows are three and two.
    if (rows == 3 || (kFewest == 2 && rows == 5)) return use(std::integral_constant<int, 3>());
  }
  if (kFewest > 2 || rows > 2) return use(std::integral_constant<int, 4>());
  if constexpr (kFewest <= 2) {
    if (kFewest == 2 || rows == 2) return use(std::integral_constant<int, 2>());
  }
  if constexpr (kFewest == 1) use(std::integral_constant<int, 1>());
}

/// Bytes 0..largest.
template <int kLargestByte>
struct Unsigned {
  using Dot = DotU8;
  static constexpr int kLargest = kLargestByte;
  static constexpr int kSettleEvery = settle_every(kLargest);
};
/// Any eight-bit value, as w + kWideBias.
struct Wide {
  using Dot = DotWide;
  static constexpr int kSettleEvery = 4;  // settles by itself
};

/// Structure of a kernel's sums.
template <typename D, int kEvery, uint32_t kGroup, bool kWithOffset>
struct Sums {
  using Dot = D;
  static constexpr int kScales = kActivationBlock / kGroup;  ///< per block
  static constexpr int kGroups = 8 / kScales;                ///< groups of 4 values of k per scale
  /// Vectors added between settle() calls.
  static constexpr int kSettleEvery = kEvery < kGroups ? kEvery : kGroups;
  static constexpr bool kHasOffset = kWithOffset;
};

/// Scales and offsets of a block.
template <typename S>
struct BlockScales {
  F32x16 scale[S::kScales], offset[S::kScales];
};

template <typename S, typename PanelBlock>
inline BlockScales<S> block_scales(const PanelBlock& panel_block, uint32_t b) {
  BlockScales<S> w;
  for (uint32_t h = 0; h < S::kScales; ++h) {
    const uint32_t group = S::kScales * b + h;
    w.scale[h] = panel_block.scale(group);
    if constexpr (S::kHasOffset) w.offset[h] = panel_block.offset(group, w.scale[h]);
  }
  return w;
}

/// Adds the dot products of scale kScale of a block. `both` keeps those of the first of two scales.
template <typename S, int kScale>
inline void add_dots(I32x16 dots, float d, const BlockScales<S>& w, F32x16& both, F32x16& acc) {
  if constexpr (S::kScales == 1) {
    acc = fma(to_f32(dots), mul(broadcast(d), w.scale[0]), acc);
  } else if constexpr (kScale == 0) {
    both = mul(w.scale[0], to_f32(dots));
  } else {
    acc = fma(broadcast(d), fma(w.scale[1], to_f32(dots), both), acc);
  }
}

/// Adds the offsets of a block; the half sums of a row are `step` apart.
template <typename S>
inline F32x16 add_offsets(const BlockScales<S>& w, const float* sums, const float* half_sums,
                          uint64_t step, F32x16 acc) {
  if constexpr (S::kScales == 1) {
    return fma(w.offset[0], broadcast(*sums), acc);
  } else {
    acc = fma(w.offset[0], broadcast(half_sums[0]), acc);
    return fma(w.offset[1], broadcast(half_sums[step]), acc);
  }
}

/// Results of row t and panel p of the call.
inline float* results_at(const LinearArgs& args, uint64_t p, uint64_t t) {
  return args.y + t * args.y_stride + p * kRows;
}

/// Blocks of up to a group of activation rows: rows of a group are interleaved, a single row is
/// not.
template <int kInterleave>
struct ActivationBlocks {
  const int8_t* q;
  const float* d;
  const float* sums;
  const float* half_sums;
  const HalfTotals* totals;
  ActivationBlocks(const QuantRows& rows, uint64_t t, uint64_t block)
      : q(rows.q + rows.row(t, 4, 4) + block * kActivationBlock * kInterleave),
        d(rows.d + rows.row(t, kActivationBlock) + block * kInterleave),
        sums(rows.sums + rows.row(t, kActivationBlock) + block * kInterleave),
        half_sums(rows.half_sums + rows.row(t, kHalfBlock) + 2 * block * kInterleave),
        totals(rows.totals + rows.row(t, kHalfBlock) + 2 * block * kInterleave) {}
  void next() {
    q += kActivationBlock * kInterleave;
    d += kInterleave;
    sums += kInterleave;
    half_sums += 2 * kInterleave;
    totals += 2 * kInterleave;
  }
};

/// Weights to prefetch. Kernels request them little by little, so that memory transfers overlap
/// computation.
struct ReadAhead {
  const uint8_t* bytes;
  uint64_t block_bytes;  ///< requested per block of 32 values of k
  void next() {
    for (uint64_t line = 0; line < block_bytes; line += 64) __builtin_prefetch(bytes + line);
    bytes += block_bytes;
  }
};

/// True if two operations unpack a vector of weights, or fewer, in this panel block or these bytes.
template <typename T>
constexpr bool unpacks_fast() {
  if constexpr (requires { T::kUnpacksFast; }) {
    return T::kUnpacksFast;
  } else {
    return false;
  }
}

template <typename PanelBlock>
constexpr bool kHasRest = requires(const PanelBlock& panel_block) {
  panel_block.rest(0, 0, HalfTotals());
};

template <typename PanelBlock>
constexpr int kCodeUnitOf = [] {
  if constexpr (requires { PanelBlock::kCodeUnit; }) {
    return PanelBlock::kCodeUnit;
  } else {
    return 1;
  }
}();
/// True if a single row is multiplied with codes in place. More rows would share the work of moving
/// codes, and need more registers than exist.
template <typename PanelBlock, int kCols>
constexpr bool kMultipliesInPlace =
    kCols == 1 && !std::is_void_v<DotInPlace<1>> && requires(const PanelBlock& panel_block) {
  panel_block.each_in_place(0, 0);
};

/// Start value of the dot products of scale kScale of block b; `half_step` is the distance between
/// the totals of a block's halves.
template <int kScales, int kScale, typename PanelBlock>
inline I32x16 dots_begin(const PanelBlock& panel_block, uint32_t b, const HalfTotals* totals,
                         uint64_t half_step) {
  if constexpr (kHasRest<PanelBlock>) {
    static_assert(kScales == 2);
    return panel_block.rest(b, kScale, totals[kScale * half_step]);
  } else if constexpr (PanelBlock::kBias == 0) {
    return broadcast_i32(0);
  } else if constexpr (kScales == 2) {
    return times_total<-PanelBlock::kBias>(totals[kScale * half_step]);
  } else {
    return times_total<-PanelBlock::kBias>(totals[0], totals[half_step]);
  }
}

/// Activation blocks of kCols rows: of one group, or of two if one is too small.
template <int kCols>
struct Activations {
  static constexpr int kInterleave = kCols == 1 ? 1 : kRowInterleave;
  ActivationBlocks<kInterleave> group[(kCols + kInterleave - 1) / kInterleave];
  void next() {
    for (auto& blocks : group) blocks.next();
  }
};

template <int kCols>
inline Activations<kCols> activations_at(const QuantRows& rows, uint64_t t, uint64_t block) {
  if constexpr (kCols <= static_cast<int>(kRowInterleave)) {
    return {{{rows, t, block}}};
  } else {
    return {{{rows, t, block}, {rows, t + kRowInterleave, block}}};
  }
}

/// Adds the blocks of a panel block to the sums of kCols rows and unpacks the weights on the way.
/// Reads past the last row.
template <typename PanelBlock, int kCols>
[[gnu::always_inline]] inline void multiply_block(const uint8_t* bytes, ReadAhead& ahead,
                                                  Activations<kCols>& activations,
                                                  F32x16 (&acc)[kCols]) {
  constexpr int kInterleave = Activations<kCols>::kInterleave;
  using Weights = typename PanelBlock::Weights;
  using S = Sums<typename Weights::Dot, Weights::kSettleEvery, PanelBlock::kGroup,
                 PanelBlock::kHasOffset>;
  constexpr bool kInPlace = kMultipliesInPlace<PanelBlock, kCols>;
  using Dot = std::conditional_t<kInPlace, DotInPlace<kCodeUnitOf<PanelBlock>>, typename S::Dot>;
  PanelBlock panel_block(bytes);
  for (uint32_t b = 0; b < PanelBlock::kBlocks; ++b, activations.next()) {
    ahead.next();
    const BlockScales<S> w = block_scales<S>(panel_block, b);
    F32x16 both[kCols];
    Dot dots[kCols];
    const auto multiply = [&](auto g, U8x64 weights) TENON_INLINED {
      constexpr int kScale = g / S::kGroups;
      each_index<kCols>([&](auto c) TENON_INLINED {
        const auto& x = activations.group[c / kInterleave];
        constexpr int kRow = c % kInterleave;
        if constexpr (g % S::kGroups == 0) {
          dots[c] = Dot(dots_begin<S::kScales, kScale>(panel_block, b, x.totals + kRow,
                                                       uint64_t{kInterleave}));
        }
        const int8_t* q = x.q + 4 * (g * kInterleave + kRow);
        if constexpr (kInPlace) {
          dots[c].template add<g % 2 != 0>(weights, q);
        } else {
          dots[c].add(weights, q);
        }
        if constexpr ((g + 1) % S::kSettleEvery == 0) dots[c].settle();
        if constexpr ((g + 1) % S::kGroups == 0) {
          add_dots<S, kScale>(dots[c].total(), x.d[kRow], w, both[c], acc[c]);
        }
      });
    };
    if constexpr (kInPlace) {
      panel_block.each_in_place(b, multiply);
    } else if constexpr (kHasRest<PanelBlock>) {
      panel_block.each_part(b, multiply);
    } else {
      panel_block.each(b, multiply);
    }
    if constexpr (S::kHasOffset) {
      each_index<kCols>([&](auto c) TENON_INLINED {
        const auto& x = activations.group[c / kInterleave];
        constexpr int kRow = c % kInterleave;
        acc[c] = add_offsets<S>(w, x.sums + kRow, x.half_sums + kRow, kInterleave, acc[c]);
      });
    }
  }
}

/// Adds num_blocks blocks of a panel, from its packed bytes on and from activation block `block`
/// on, to the results of rows [t, t + kCols) and panel p.
template <typename PanelBlock, int kCols>
[[gnu::noinline]] void micro_kernel_packed(const uint8_t* panel_blocks, const LinearArgs& args,
                                           uint64_t p, uint64_t t, uint64_t block,
                                           uint64_t num_blocks, ReadAhead ahead) {
  auto x = activations_at<kCols>(args.quantised, t, block);
  // Constant indices: with variable ones the sums would stay in memory.
  F32x16 acc[kCols];
  each_index<kCols>([&](auto c) TENON_INLINED {
    acc[c] = block == 0 ? broadcast(0.0f) : load(results_at(args, p, t + c));
  });
  for (uint64_t b = 0; b < num_blocks;
       b += PanelBlock::kBlocks, panel_blocks += PanelBlock::kBytes) {
    multiply_block<PanelBlock>(panel_blocks, ahead, x, acc);
  }
  each_index<kCols>([&](auto c) TENON_INLINED { store(results_at(args, p, t + c), acc[c]); });
}

/// Multiplies panel p with all activation rows, at most kCols. Also computes rows past the last
/// one, without storing them.
template <typename PanelBlock, int kCols>
inline void direct_panel(const LinearArgs& args, uint64_t p) {
  constexpr uint64_t kBlockBytes = PanelBlock::kBytes / PanelBlock::kBlocks;
  const uint8_t* panel = args.weights + (args.first_panel + p) * args.panel_bytes;
  ReadAhead ahead{panel + kPrefetchBytes, kBlockBytes};
  // Rare, so it shares its code with the passes, at 2 % of its time.
  if constexpr (kCols == 3) {
    return micro_kernel_packed<PanelBlock, 3>(panel, args, p, 0, 0, args.depth / kActivationBlock,
                                              ahead);
  }
  const uint64_t panel_blocks = args.depth / kActivationBlock / PanelBlock::kBlocks;
  auto x = activations_at<kCols>(args.quantised, 0, 0);
  F32x16 acc[kCols];
  each_index<kCols>([&](auto c) TENON_INLINED { acc[c] = broadcast(0.0f); });
  for (uint64_t panel_block = 0; panel_block < panel_blocks;
       ++panel_block, panel += PanelBlock::kBytes) {
    multiply_block<PanelBlock>(panel, ahead, x, acc);
  }
  // A constant index: with a variable one the sums would stay in memory.
  each_index<kCols>([&](auto c) TENON_INLINED {
    if (static_cast<uint64_t>(c) < args.num_rows) store(results_at(args, p, c), acc[c]);
  });
}

/// Multiplies all panels with few activation rows, up to kDirectRows.
template <typename PanelBlock>
inline void direct_rows(const LinearArgs& args) {
  const auto all_panels = [&](auto columns) {
    for (uint64_t p = 0; p < args.num_panels; ++p) {
      direct_panel<PanelBlock, decltype(columns)::value>(args, p);
    }
  };
  if constexpr (kDirectRows == 1) {
    all_panels(std::integral_constant<int, 1>());
  } else {
    if constexpr (kDirectRows > kColumns) {
      if (args.num_rows > kColumns) return all_panels(std::integral_constant<int, kDirectRows>());
    }
    columns_for<1>(args.num_rows, all_panels);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
