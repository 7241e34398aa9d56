// Linear kernels over float panels (f32, f16, bf16) and over formats without a packed layout, which
// are decoded into the same tile. f32 activations. Included by kernels_<isa>.cpp after vec.h.
//
// Each output is one chain acc = fma(w[k], x[k], acc) over k in order, whatever the number of
// columns.
#pragma once

#include "backends/cpu/kernels.h"
#include "backends/cpu/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr uint32_t kWide = kFloatPanelRows;

/// 32 weights of one k as two vectors.
struct Pair {
  F32x16 a, b;
};
struct FromF32 {
  static constexpr uint64_t kSize = 4;
  static Pair at(const uint8_t* panel, uint64_t k) {
    const auto* p = reinterpret_cast<const float*>(panel) + k * kWide;
    return {load(p), load(p + 16)};
  }
};
struct FromF16 {
  static constexpr uint64_t kSize = 2;
  static Pair at(const uint8_t* panel, uint64_t k) {
    const auto* p = reinterpret_cast<const uint16_t*>(panel) + k * kWide;
    return {load_f16(p), load_f16(p + 16)};
  }
};
struct FromBf16 {
  static constexpr uint64_t kSize = 2;
  static Pair at(const uint8_t* panel, uint64_t k) {
    const auto* p = reinterpret_cast<const uint16_t*>(panel) + k * kWide;
    return {load_bf16(p), load_bf16(p + 16)};
  }
};

/// acc[c] += sum_k w[k] x[c][k] over `depth` values of k.
template <typename From, int kCols>
inline void float_panel(const uint8_t* panel, const float* x, uint64_t stride, uint64_t depth,
                        float* sums) {
  F32x16 a[kCols];
  F32x16 b[kCols];
  for (int c = 0; c < kCols; ++c) {
    a[c] = load(sums + c * kWide);
    b[c] = load(sums + c * kWide + 16);
  }
  for (uint64_t k = 0; k < depth; ++k) {
    if constexpr (kCols == 1) __builtin_prefetch(panel + (k + 24) * kWide * From::kSize);
    const Pair w = From::at(panel, k);
    for (int c = 0; c < kCols; ++c) {
      const F32x16 xk = broadcast(x[static_cast<uint64_t>(c) * stride + k]);
      a[c] = fma(w.a, xk, a[c]);
      b[c] = fma(w.b, xk, b[c]);
    }
  }
  for (int c = 0; c < kCols; ++c) {
    store(sums + c * kWide, a[c]);
    store(sums + c * kWide + 16, b[c]);
  }
}

/// num_rows rows of x [num_rows, stride] against `depth` values of k of a panel; sums
/// [num_rows, 32].
template <typename From>
inline void float_rows(const uint8_t* panel, const float* x, uint64_t stride, uint64_t num_rows,
                       uint64_t depth, float* sums) {
  uint64_t t = 0;
  for (; t + kFloatColumns <= num_rows; t += kFloatColumns) {
    float_panel<From, kFloatColumns>(panel, x + t * stride, stride, depth, sums + t * kWide);
  }
  for (; t < num_rows; ++t) {
    float_panel<From, 1>(panel, x + t * stride, stride, depth, sums + t * kWide);
  }
}

inline void clear_sums(const LinearArgs& args, uint64_t num_panels) {
  for (uint64_t i = 0; i < num_panels * args.num_rows * kWide; i += 16) {
    store(args.sums + i, broadcast(0.0f));
  }
}

inline void store_sums(const LinearArgs& args, uint64_t panel, const float* sums) {
  const uint64_t first = panel * kWide;
  const uint64_t first_column = args.first_panel * kWide;
  const uint64_t valid = args.weight_rows - first < kWide ? args.weight_rows - first : kWide;
  for (uint64_t t = 0; t < args.num_rows; ++t) {
    std::memcpy(args.y + t * args.y_stride + first - first_column, sums + t * kWide,
                valid * sizeof(float));
  }
}

/// Above this many rows panels are read in pieces along k that stay in a cache, and so do the
/// activations that go with them.
constexpr uint64_t kPieceRows = 2 * kFloatColumns;

/// All panels of a call in pieces of kDepth values of k, for as many rows at once as have their
/// piece in the second-level cache: multiply(p, k, depth, x, rows, sums) adds values [k, k + depth)
/// of panel p times x [rows, kStride] to sums [rows, 32].
template <uint64_t kDepth, typename Multiply>
inline void multiply_pieces(const LinearArgs& args, Multiply multiply) {
  constexpr uint64_t kStride = kDepth + kPiecePadding;
  constexpr uint64_t kRowsAtOnce = kPieceFloats / kStride;
  const uint64_t panel_sums = args.num_rows * kWide;
  clear_sums(args, args.num_panels);
  for (uint64_t k = 0; k < args.depth; k += kDepth) {
    const uint64_t depth = args.depth - k < kDepth ? args.depth - k : kDepth;
    for (uint64_t t = 0; t < args.num_rows; t += kRowsAtOnce) {
      const uint64_t rows = args.num_rows - t < kRowsAtOnce ? args.num_rows - t : kRowsAtOnce;
      for (uint64_t i = 0; i < rows; ++i) {
        std::memcpy(args.piece + i * kStride, args.x + (t + i) * args.depth + k,
                    depth * sizeof(float));
      }
      for (uint64_t i = 0; i < args.num_panels; ++i) {
        multiply(args.first_panel + i, k, depth, args.piece, kStride, rows,
                 args.sums + i * panel_sums + t * kWide);
      }
    }
  }
  for (uint64_t i = 0; i < args.num_panels; ++i) {
    store_sums(args, args.first_panel + i, args.sums + i * panel_sums);
  }
}

template <typename From>
void linear_float(const LinearArgs& args) noexcept {
  const auto panel = [&](uint64_t p) { return args.weights + p * args.panel_bytes; };
  if (args.num_rows <= kPieceRows) {
    for (uint64_t p = args.first_panel; p < args.first_panel + args.num_panels; ++p) {
      clear_sums(args, 1);
      float_rows<From>(panel(p), args.x, args.depth, args.num_rows, args.depth, args.sums);
      store_sums(args, p, args.sums);
    }
    return;
  }
  multiply_pieces<kFloatDepth>(args, [&](uint64_t p, uint64_t k, uint64_t depth, const float* x,
                                         uint64_t stride, uint64_t rows, float* sums) {
    const uint8_t* piece = panel(p) + k * kWide * From::kSize;
    if constexpr (kFloatTiles && From::kSize < sizeof(float)) {
      for (uint64_t i = 0; i < depth; ++i) {
        const Pair w = From::at(piece, i);
        store(args.tile + i * kWide, w.a);
        store(args.tile + i * kWide + 16, w.b);
      }
      const auto* tile = reinterpret_cast<const uint8_t*>(args.tile);
      float_rows<FromF32>(tile, x, stride, rows, depth, sums);
    } else {
      float_rows<From>(piece, x, stride, rows, depth, sums);
    }
  });
}

/// Row-major blocks: 32 rows are decoded, kTileDepth values at a time, and turned into a tile.
inline void linear_raw(const LinearArgs& args) noexcept {
  multiply_pieces<kTileDepth>(args, [&](uint64_t p, uint64_t k, uint64_t depth, const float* x,
                                        uint64_t stride, uint64_t rows, float* sums) {
    for (uint64_t r = 0; r < kWide; ++r) {
      float row[kTileDepth] = {};
      const uint64_t weight_row = p * kWide + r;
      if (weight_row < args.weight_rows) {
        args.decode_row(
            args.weights + weight_row * args.row_bytes + k / args.block_values * args.block_bytes,
            row, depth);
      }
      for (uint64_t i = 0; i < depth; ++i) args.tile[i * kWide + r] = row[i];
    }
    const auto* tile = reinterpret_cast<const uint8_t*>(args.tile);
    float_rows<FromF32>(tile, x, stride, rows, depth, sums);
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
