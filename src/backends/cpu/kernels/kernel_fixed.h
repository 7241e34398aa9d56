// Linear kernels over f16 and bf16 panels in fixed point. Weights and activations become integers
// of 14 bits, with a power of two per 256 weights of a row and a scale per 32 activations; products
// of pairs are added in int32. That doubles the multiplications of f32, with far less rounding than
// bf16 activations. Included by kernels_<isa>.cpp after vec.h.
//
// For each output, whatever the number of rows, over each 256 values of k in order
//   y = fma(part, scale of the weights, y)     (y = part * scale for the first)
// and for a part over each 32 of them in order, from 0 on
//   part = fma(dot, d, part)
// where dot is exact in int32: 32 x 8191 x 8191 < 2^31.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/kernel_float.h"
#include "backends/cpu/kernels/kernel_tiled.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Up to 256 values of k for which each row of a panel shares an exponent.
///   From  FromF16 or FromBf16
template <typename From>
struct FixedWeights {
  const uint8_t* weights;
  F32x16 scale[2], factor[2];  // halves of the panel
  /// Bytes of panel p of a call, from value k on.
  static const uint8_t* at(const LinearArgs& args, uint64_t p, uint64_t k) {
    return args.weights + (args.first_panel + p) * args.panel_bytes + k * kWide * From::kSize;
  }
  /// Exponent 255 marks a NaN or infinity among the weights: the factor is -infinity, so all
  /// integers are 0 (low bits of infinity or NaN), and the scale is infinity, so no result is a
  /// number.
  FixedWeights(const LinearArgs& args, uint64_t p, uint64_t k) : weights(at(args, p, k)) {
    const uint8_t* exponents = at(args, p, args.depth) + k / kExponentDepth * kWide;
    __builtin_prefetch(exponents + args.panel_bytes);  // exponents of the next panel
    for (int h = 0; h < 2; ++h) {
      const I32x16 exponent = load_u8_as_i32(exponents + 16 * h);
      scale[h] = as_f32(shift_left(exponent, 23));
      factor[h] = as_f32(shift_left(add(broadcast_i32(254), negative(exponent)), 23));
    }
  }
  /// Calls use(h, weights) for both halves with values 2i and 2i + 1 of k.
  template <typename Dot, typename Use>
  void pair(uint64_t i, Use use) const {
    constexpr uint64_t kBytes = kWide * From::kSize;
    __builtin_prefetch(weights + 2 * i * kBytes + kPrefetchBytes);
    __builtin_prefetch(weights + (2 * i + 1) * kBytes + kPrefetchBytes);
    const Pair even = From::at(weights, 2 * i), odd = From::at(weights, 2 * i + 1);
    // The sum holds the nearest integer in its low bits.
    const F32x16 rounding = broadcast(1.5f * (1 << 23));
    use(std::integral_constant<int, 0>(),
        Dot::pairs(fma(even.a, factor[0], rounding), fma(odd.a, factor[0], rounding)));
    use(std::integral_constant<int, 1>(),
        Dot::pairs(fma(even.b, factor[1], rounding), fma(odd.b, factor[1], rounding)));
  }
};

/// Pairs in a block of activations.
constexpr uint64_t kBlockPairs = kActivationBlock / 2;

/// Panel p of a call against its only row.
template <typename From, typename Dot>
inline void direct_fixed(const LinearArgs& args, uint64_t p) {
  const int16_t* q = args.quantised.fixed;
  const float* d = args.quantised.fixed_d;
  F32x16 y[2] = {broadcast(0.0f), broadcast(0.0f)};
  for (uint64_t k = 0; k < args.depth; k += kExponentDepth) {
    const FixedWeights<From> w(args, p, k);
    const uint64_t blocks = std::min<uint64_t>(args.depth - k, kExponentDepth) / kActivationBlock;
    F32x16 part[2] = {broadcast(0.0f), broadcast(0.0f)};
    for (uint64_t b = 0; b < blocks; ++b, q += kActivationBlock, ++d) {
      Dot dots[2];
      // Not unrolled: g++ would request all lines of the block at once.
      for (uint64_t i = 0; i < kBlockPairs; ++i) {
        w.template pair<Dot>(b * kBlockPairs + i,
                             [&](auto h, auto weights) { dots[h].add(weights, q + 2 * i); });
      }
      each_index<2>(
          [&](auto h) { part[h] = fma(to_f32(dots[h].total()), broadcast(*d), part[h]); });
    }
    each_index<2>(
        [&](auto h) { y[h] = k == 0 ? mul(part[h], w.scale[h]) : fma(part[h], w.scale[h], y[h]); });
  }
  each_index<2>([&](auto h) { store(args.y + p * kWide + 16 * h, y[h]); });
}

/// The weights of FixedWeights as integers.
struct FixedTile {
  int16_t pairs[kExponentDepth / 2][2][32];  // values 2i and 2i + 1 of k; half; row, value
  float scale[2][16];
};
static_assert(kExponentDepth == kTileDepth);
static_assert(sizeof(FixedTile) <= kTileDepth * kFloatPanelRows * sizeof(float));

template <typename Dot, typename Weights>
inline void unpack_fixed(const Weights& weights, uint64_t depth, FixedTile& tile) {
  for (int h = 0; h < 2; ++h) store(tile.scale[h], weights.scale[h]);
  for (uint64_t i = 0; i < depth / 2; ++i) {
    weights.template pair<Dot>(i, [&](auto h, auto pairs) { Dot::store(tile.pairs[i][h], pairs); });
  }
}

/// Multiplies kHalves halves of a tile over `blocks` activation blocks from k on with rows [t, t +
/// kCols).
template <typename Dot, int kHalves, int kCols>
inline void micro_kernel_fixed(const LinearArgs& args, uint64_t p, int half, uint64_t t, uint64_t k,
                               uint64_t blocks) {
  const FixedTile& tile = *reinterpret_cast<const FixedTile*>(args.tile);
  const QuantRows& rows = args.quantised;
  const int16_t* q[kCols];
  const float* d[kCols];
  each_index<kCols>([&](auto c) {
    q[c] = rows.fixed_at(t + c, k);
    d[c] = rows.fixed_scale_at(t + c, k);
  });
  const auto each_sum = [](auto use) {
    each_index<kHalves>([&](auto h) { each_index<kCols>([&](auto c) { use(h, c); }); });
  };
  F32x16 part[kHalves][kCols];
  each_sum([&](auto h, auto c) { part[h][c] = broadcast(0.0f); });
  for (uint64_t b = 0; b < blocks; ++b) {
    Dot dots[Dot::kChains][kHalves][kCols];
    each_index<kBlockPairs>([&](auto i) {
      typename Dot::Weights w[kHalves];
      each_index<kHalves>(
          [&](auto h) { w[h] = Dot::load(tile.pairs[b * kBlockPairs + i][half + h]); });
      each_sum([&](auto h, auto c) { dots[i % Dot::kChains][h][c].add(w[h], q[c] + 2 * i); });
    });
    each_sum([&](auto h, auto c) {
      I32x16 dot = dots[0][h][c].total();
      if constexpr (Dot::kChains == 2) dot = add(dot, dots[1][h][c].total());
      part[h][c] = fma(to_f32(dot), broadcast(d[c][b]), part[h][c]);
    });
    for (const int16_t*& column : q) {
      column += kActivationBlock;
      asm("" : "+r"(column));  // keeps g++ from using a pointer per value
    }
  }
  each_sum([&](auto h, auto c) {
    float* y = args.y + (t + c) * args.y_stride + p * kWide + 16 * (half + h);
    const F32x16 scale = load(tile.scale[half + h]);
    store(y, k == 0 ? mul(part[h][c], scale) : fma(part[h][c], scale, load(y)));
  });
}

/// Multiplies panel p over a run of k with all rows.
template <typename From, typename Dot>
inline void macro_kernel_fixed(const LinearArgs& args, Run run, uint64_t p) {
  constexpr uint64_t kBlocks = kTileDepth / kActivationBlock;
  for (uint64_t block = run.first; block < run.end; block += kBlocks) {
    const uint64_t k = block * kActivationBlock;
    const uint64_t blocks = std::min(run.end - block, kBlocks);
    unpack_fixed<Dot>(FixedWeights<From>(args, p, k), blocks * kActivationBlock,
                      *reinterpret_cast<FixedTile*>(args.tile));
    const uint64_t after = block + blocks;  // after a run: the first tile of the next panel
    const uint64_t next = after < run.end ? after : run.first;
    TileAhead<1> ahead{
        {FixedWeights<From>::at(args, after < run.end ? p : p + 1, next * kActivationBlock)},
        std::min(run.end - next, kBlocks) * kActivationBlock * kWide * From::kSize};
    ahead.share_among(args.num_rows / Dot::kColumns * 2 / Dot::kHalves);
    for (int half = 0; half < 2; half += Dot::kHalves) {
      // Sweeps the padding of the last row group, too (LinearArgs::y).
      for (uint64_t t = 0; t < args.num_rows; t += Dot::kColumns) {
        ahead.next();
        micro_kernel_fixed<Dot, Dot::kHalves, Dot::kColumns>(args, p, half, t, k, blocks);
      }
    }
  }
}

template <typename From, typename Dot>
inline void linear_fixed(const LinearArgs& args) {
  static_assert(kRowInterleave % Dot::kColumns == 0);
  static_assert(Dot::kChains <= 2);
  if (args.num_rows == 1) {
    for (uint64_t p = 0; p < args.num_panels; ++p) direct_fixed<From, Dot>(args, p);
    return;
  }
  each_run<kTileDepth>(args, kRunBytes / sizeof(int16_t), [&](Run run) {
    for (uint64_t p = 0; p < args.num_panels; ++p) macro_kernel_fixed<From, Dot>(args, run, p);
  });
}

/// Falls back to f32 activations that have no fixed-point form.
template <typename From, typename Dot>
void linear_fixed_or_float(const LinearArgs& args) noexcept {
  if (args.quantised.fixed != nullptr) {
    linear_fixed<From, Dot>(args);
  } else {
    linear_float<From>(args);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
