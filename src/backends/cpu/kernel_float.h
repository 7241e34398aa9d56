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

/// All activation rows against values [k, k + depth) of a panel; sums [num_rows, 32].
template <typename From>
inline void float_rows(const LinearArgs& args, const uint8_t* panel, uint64_t k, uint64_t depth) {
  const float* x = args.x + k;
  uint64_t t = 0;
  for (; t + kFloatColumns <= args.num_rows; t += kFloatColumns) {
    float_panel<From, kFloatColumns>(panel, x + t * args.depth, args.depth, depth,
                                     args.sums + t * kWide);
  }
  for (; t < args.num_rows; ++t) {
    float_panel<From, 1>(panel, x + t * args.depth, args.depth, depth, args.sums + t * kWide);
  }
}

inline void clear_sums(const LinearArgs& args) {
  for (uint64_t i = 0; i < args.num_rows * kWide; i += 16) store(args.sums + i, broadcast(0.0f));
}

inline void store_sums(const LinearArgs& args, uint64_t panel) {
  const uint64_t first = panel * kWide;
  const uint64_t first_column = args.first_panel * kWide;
  const uint64_t valid = args.weight_rows - first < kWide ? args.weight_rows - first : kWide;
  for (uint64_t t = 0; t < args.num_rows; ++t) {
    std::memcpy(args.y + t * args.y_stride + first - first_column, args.sums + t * kWide,
                valid * sizeof(float));
  }
}

/// Above this many rows a panel is converted to f32 once, in pieces that stay in the cache.
constexpr uint64_t kTileRows = 2 * kFloatColumns;

template <typename From>
void linear_float(const LinearArgs& args) noexcept {
  for (uint64_t p = args.first_panel; p < args.first_panel + args.num_panels; ++p) {
    const uint8_t* panel = args.weights + p * args.panel_bytes;
    clear_sums(args);
    if (From::kSize == sizeof(float) || args.num_rows <= kTileRows) {
      float_rows<From>(args, panel, 0, args.depth);
    } else {
      for (uint64_t k = 0; k < args.depth; k += kTileDepth) {
        const uint64_t depth = args.depth - k < kTileDepth ? args.depth - k : kTileDepth;
        for (uint64_t i = 0; i < depth; ++i) {
          const Pair w = From::at(panel, k + i);
          store(args.tile + i * kWide, w.a);
          store(args.tile + i * kWide + 16, w.b);
        }
        float_rows<FromF32>(args, reinterpret_cast<const uint8_t*>(args.tile), k, depth);
      }
    }
    store_sums(args, p);
  }
}

/// Row-major blocks: 32 rows are decoded, kTileDepth values at a time, and turned into a tile.
inline void linear_raw(const LinearArgs& args) noexcept {
  float row[kTileDepth];
  for (uint64_t p = args.first_panel; p < args.first_panel + args.num_panels; ++p) {
    clear_sums(args);
    for (uint64_t k = 0; k < args.depth; k += kTileDepth) {
      const uint64_t depth = args.depth - k < kTileDepth ? args.depth - k : kTileDepth;
      for (uint64_t r = 0; r < kWide; ++r) {
        const uint64_t weight_row = p * kWide + r;
        if (weight_row < args.weight_rows) {
          args.decode_row(
              args.weights + weight_row * args.row_bytes + k / args.block_values * args.block_bytes,
              row, depth);
        } else {
          std::memset(row, 0, sizeof(row));
        }
        for (uint64_t i = 0; i < depth; ++i) args.tile[i * kWide + r] = row[i];
      }
      float_rows<FromF32>(args, reinterpret_cast<const uint8_t*>(args.tile), k, depth);
    }
    store_sums(args, p);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
