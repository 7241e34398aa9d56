// Linear kernels over float panels (f32, f16, bf16) and over formats without a packed layout, which
// are decoded into the same tile. f32 activations. Included by kernels_<isa>.cpp after vec.h.
//
// Each output is one chain acc = fma(w[k], x[k], acc) over k in order, whatever the number of
// columns.
#pragma once

#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr uint32_t kWide = kFloatPanelRows;

/// 32 weights of one k as two vectors.
struct Pair {
  F32x16 a, b;
};
/// Values of kBytes bytes without anything between them.
template <uint64_t kBytes>
struct PlainPanel {
  static constexpr uint64_t kSize = kBytes;
  /// Offset of the weights of k in a panel; begin(k): of the panel block that starts with k.
  static constexpr uint64_t place(uint64_t k) { return k * kWide * kSize; }
  static constexpr uint64_t begin(uint64_t k) { return place(k); }
};
struct FromF32 : PlainPanel<4> {
  static Pair at(const uint8_t* panel, uint64_t k) {
    const auto* p = reinterpret_cast<const float*>(panel) + k * kWide;
    return {load(p), load(p + 16)};
  }
};
struct FromF16 : PlainPanel<2> {
  static Pair at(const uint8_t* panel, uint64_t k) {
    const auto* p = reinterpret_cast<const uint16_t*>(panel) + k * kWide;
    return {load_f16(p), load_f16(p + 16)};
  }
};
struct FromBf16 : PlainPanel<2> {
  static Pair at(const uint8_t* panel, uint64_t k) {
    const auto* p = reinterpret_cast<const uint16_t*>(panel) + k * kWide;
    return {load_bf16(p), load_bf16(p + 16)};
  }
};

/// Codes of e4m3 (quant/code_groups.h), with a scale for each row before those of kGroup values of
/// k. Exact: a code's bits are those of an f32 with a smaller exponent.
template <uint64_t kGroup>
struct FromE4m3 {
  static constexpr uint64_t kSize = 1;
  static constexpr uint64_t kHead = kWide * sizeof(float);
  static constexpr uint64_t begin(uint64_t k) { return k / kGroup * (kHead + kGroup * kWide); }
  static constexpr uint64_t place(uint64_t k) { return begin(k) + kHead + k % kGroup * kWide; }
  static F32x16 values(const uint8_t* codes) {
    const I32x16 q = load_u8_as_i32(codes);
    const I32x16 magnitude = bit_and(q, broadcast_i32(127));
    const I32x16 sign = shift_left(bit_and(q, broadcast_i32(128)), 24);
    // 127 is no number: 127 << 20 becomes the bits of a NaN.
    const I32x16 broken = negative(shift_right(add(magnitude, broadcast_i32(1)), 7));
    const I32x16 rest = bit_and(broken, broadcast_i32(0x7FC00000 - (127 << 20)));
    const I32x16 bits = add(add(shift_left(magnitude, 20), rest), sign);
    return mul(as_f32(bits), broadcast(0x1p120f));
  }
  static Pair at(const uint8_t* panel, uint64_t k) {
    const auto* scales = reinterpret_cast<const float*>(panel + begin(k));
    const uint8_t* codes = panel + place(k);
    return {mul(values(codes), load(scales)), mul(values(codes + 16), load(scales + 16))};
  }
};

/// y[c] += sum_k w[k] x[c][k] over `depth` values of k; assigns instead for the first values.
template <typename From, int kCols>
inline void float_panel(const uint8_t* panel, const float* x, uint64_t x_stride, uint64_t depth,
                        bool first, float* y, uint64_t y_stride) {
  F32x16 a[kCols];
  F32x16 b[kCols];
  for (int c = 0; c < kCols; ++c) {
    a[c] = first ? broadcast(0.0f) : load(y + static_cast<uint64_t>(c) * y_stride);
    b[c] = first ? broadcast(0.0f) : load(y + static_cast<uint64_t>(c) * y_stride + 16);
  }
  for (uint64_t k = 0; k < depth; ++k) {
    if constexpr (kCols == 1) __builtin_prefetch(panel + From::place(k + 24));
    const Pair w = From::at(panel, k);
    for (int c = 0; c < kCols; ++c) {
      const F32x16 xk = broadcast(x[static_cast<uint64_t>(c) * x_stride + k]);
      a[c] = fma(w.a, xk, a[c]);
      b[c] = fma(w.b, xk, b[c]);
    }
  }
  for (int c = 0; c < kCols; ++c) {
    store(y + static_cast<uint64_t>(c) * y_stride, a[c]);
    store(y + static_cast<uint64_t>(c) * y_stride + 16, b[c]);
  }
}

/// Activation rows with a range of their k values.
struct FloatChunk {
  const float* x;  ///< [num_rows, stride]
  uint64_t stride;
  uint64_t first_row, num_rows;
  uint64_t first_k, depth;
};

/// Multiplies the rows of a chunk with its k values of panel p, which begin at `weights`.
template <typename From>
inline void float_rows(const LinearArgs& args, uint64_t p, const uint8_t* weights,
                       const FloatChunk& chunk) {
  const auto multiply = [&](uint64_t t, auto columns) {
    float_panel<From, decltype(columns)::value>(
        weights, chunk.x + t * chunk.stride, chunk.stride, chunk.depth, chunk.first_k == 0,
        args.y + (chunk.first_row + t) * args.y_stride + p * kWide, args.y_stride);
  };
  uint64_t t = 0;
  for (; t + kFloatColumns <= chunk.num_rows; t += kFloatColumns) {
    multiply(t, std::integral_constant<int, kFloatColumns>());
  }
  for (; t < chunk.num_rows; ++t) multiply(t, std::integral_constant<int, 1>());
}

/// Above this many rows, panels and their activations are read in chunks along k that stay in a
/// cache.
constexpr uint64_t kPackedFromRows = 2 * kFloatColumns;

/// Processes all panels of a call in chunks of kDepth values of k, for as many rows as have their
/// chunk in the second-level cache. Calls multiply(p, chunk) per panel.
template <uint64_t kDepth, typename Multiply>
inline void multiply_chunks(const LinearArgs& args, Multiply multiply) {
  constexpr uint64_t kStride = kDepth + kChunkPadding;
  constexpr uint64_t kRowsAtOnce = kChunkFloats / kStride / kFloatColumns * kFloatColumns;
  for (uint64_t k = 0; k < args.depth; k += kDepth) {
    const uint64_t depth = args.depth - k < kDepth ? args.depth - k : kDepth;
    for (uint64_t t = 0; t < args.num_rows; t += kRowsAtOnce) {
      const uint64_t rows = args.num_rows - t < kRowsAtOnce ? args.num_rows - t : kRowsAtOnce;
      for (uint64_t i = 0; i < rows; ++i) {
        std::memcpy(args.chunk + i * kStride, args.x + (t + i) * args.x_stride + k,
                    depth * sizeof(float));
      }
      for (uint64_t p = 0; p < args.num_panels; ++p) {
        multiply(p, FloatChunk{args.chunk, kStride, t, rows, k, depth});
      }
    }
  }
}

template <typename From>
void linear_float(const LinearArgs& args) noexcept {
  const auto weights_at = [&](uint64_t p, uint64_t k) {
    return args.weights + (args.first_panel + p) * args.panel_bytes + From::begin(k);
  };
  if (args.num_rows <= kPackedFromRows) {
    const FloatChunk all{args.x, args.x_stride, 0, args.num_rows, 0, args.depth};
    for (uint64_t p = 0; p < args.num_panels; ++p) {
      float_rows<From>(args, p, weights_at(p, 0), all);
    }
    return;
  }
  multiply_chunks<kFloatDepth>(args, [&](uint64_t p, const FloatChunk& chunk) {
    const uint8_t* weights = weights_at(p, chunk.first_k);
    if constexpr (kFloatTiles && From::kSize < sizeof(float)) {
      for (uint64_t i = 0; i < chunk.depth; ++i) {
        const Pair w = From::at(weights, i);
        store(args.tile + i * kWide, w.a);
        store(args.tile + i * kWide + 16, w.b);
      }
      float_rows<FromF32>(args, p, reinterpret_cast<const uint8_t*>(args.tile), chunk);
    } else {
      float_rows<From>(args, p, weights, chunk);
    }
  });
}

/// Row-major blocks: decodes 32 rows, kTileDepth values at a time, and transposes them into a tile.
inline void linear_raw(const LinearArgs& args) noexcept {
  multiply_chunks<kTileDepth>(args, [&](uint64_t p, const FloatChunk& chunk) {
    const uint64_t first_block = chunk.first_k / args.block_values;
    for (uint64_t r = 0; r < kWide; ++r) {
      float row[kTileDepth] = {};
      const uint64_t weight_row = (args.first_panel + p) * kWide + r;
      if (weight_row < args.weight_rows) {
        args.decode_row(args.weights + weight_row * args.row_bytes + first_block * args.block_bytes,
                        row, chunk.depth);
      }
      for (uint64_t i = 0; i < chunk.depth; ++i) args.tile[i * kWide + r] = row[i];
    }
    float_rows<FromF32>(args, p, reinterpret_cast<const uint8_t*>(args.tile), chunk);
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
