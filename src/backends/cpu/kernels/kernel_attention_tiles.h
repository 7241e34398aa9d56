// The inner loops of attention: scores of some columns with 16 or 32 positions, the softmax of a
// row, weighted sums of values. Included by kernels_<isa>.cpp after kernel_cache.h.
//
// Each score is one chain of fused multiply-adds over the dimensions, each sum of values one over
// the positions, whatever the number of columns, vectors or rows of a call.
#pragma once

#include <type_traits>

#include "backends/cpu/kernels/kernel_cache.h"
#include "backends/cpu/kernels/kernel_rows.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Calls f(size, first) with size a compile-time constant of at most kMax for consecutive blocks of
/// columns [begin, end).
template <int kMax, typename F>
inline void for_columns(uint32_t begin, uint32_t end, F f) {
  uint32_t c = begin;
  for (; c + kMax <= end; c += kMax) f(std::integral_constant<uint32_t, kMax>{}, c);
  if constexpr (kMax > 8) {
    for (; c + 8 <= end; c += 8) f(std::integral_constant<uint32_t, 8>{}, c);
  }
  if constexpr (kMax > 4) {
    for (; c + 4 <= end; c += 4) f(std::integral_constant<uint32_t, 4>{}, c);
  }
  for (; c + 2 <= end; c += 2) f(std::integral_constant<uint32_t, 2>{}, c);
  for (; c < end; ++c) f(std::integral_constant<uint32_t, 1>{}, c);
}

/// 2^x for x <= 0, on 16 lanes: 2^n 2^r with |r| <= 1/2 and a polynomial of degree 5 (interpolated
/// at Chebyshev nodes, |relative error| < 2.1e-7). 0 below -126; 1 at 0; NaN in, NaN out.
inline F32x16 exp2(F32x16 x) {
  const F32x16 lowest = broadcast(-126.0f);
  const F32x16 clamped = max(lowest, x);  // max(a, NaN) is NaN: see max
  const F32x16 n = round_nearest(clamped);
  const F32x16 r = sub(clamped, n);
  F32x16 p = broadcast(1.3381456987e-3f);
  p = fma(p, r, broadcast(9.6663685154e-3f));
  p = fma(p, r, broadcast(5.5503805311e-2f));
  p = fma(p, r, broadcast(2.4022349038e-1f));
  p = fma(p, r, broadcast(6.9314718086e-1f));
  p = fma(p, r, broadcast(1.0f));
  return zero_where_less(x, lowest, scale_by_power_of_two(p, n));
}
inline float exp2_of(float x) {
  float lanes[16];
  store(lanes, exp2(broadcast(x)));
  return lanes[0];
}

/// Prefetches kBytes from `at` on.
template <int kBytes>
inline void prefetch(const uint8_t* at) {
#pragma GCC unroll 8
  for (int i = 0; i < kBytes; i += 64) __builtin_prefetch(at + i, 0, 2);
}

/// Keys of some vectors of 16 positions and a prefetch address.
struct KeyTile {
  const uint8_t* vectors[kAttentionVectors];
  uint64_t row_bytes;  // distance between rows of dimensions
  uint64_t rows;
  uint64_t dim;          // rows, or less than twice as many
  const uint8_t* ahead;  // as many rows, read next
};
/// Scaling and capping of the sums.
struct ScoreFinish {
  const float* key_scales;  // per position, or null
  float soft_cap;           // 0 means none
  float soft_cap_scaled;    // in the unit of the scores
};

/// Turns the sums of a column with 16 positions into scores, in place.
inline void finish_scores(float* at, const float* key_scales, const ScoreFinish& finish) {
  F32x16 s = load(at);
  if (key_scales != nullptr) s = mul(s, load(key_scales));
  if (finish.soft_cap > 0.0f) {
    s = mul(tanh(div(s, broadcast(finish.soft_cap))), broadcast(finish.soft_cap_scaled));
  }
  store(at, s);
}

template <typename Cache, int kPart, int kCols>
inline void score_rows(const KeyTile& tile, uint64_t rows, const float* q,
                       F32x16 (&acc)[kCols][kAttentionVectors]) {
  uint64_t at = 0;
  for (uint64_t r = 0; r < rows; ++r) {
    prefetch<kAttentionVectors * Cache::kVectorBytes>(tile.ahead + at);
    F32x16 k[kAttentionVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kAttentionVectors; ++v) {
      k[v] = Cache::template load_16<kPart>(tile.vectors[v] + at);
    }
#pragma GCC unroll 16
    for (int c = 0; c < kCols; ++c) {
      const F32x16 x = broadcast(q[c]);
#pragma GCC unroll 4
      for (int v = 0; v < kAttentionVectors; ++v) acc[c][v] = fma(k[v], x, acc[c][v]);
    }
    q += kCols;
    at += tile.row_bytes;
  }
}

/// scores[c][p] for kCols columns and 16 * kAttentionVectors positions.
///   q  [dim, kCols]
template <typename Cache, int kCols>
inline void score(const KeyTile& tile, const float* q, const ScoreFinish& finish, float* scores) {
  F32x16 acc[kCols][kAttentionVectors];
#pragma GCC unroll 16
  for (int c = 0; c < kCols; ++c) {
#pragma GCC unroll 4
    for (int v = 0; v < kAttentionVectors; ++v) acc[c][v] = broadcast(0.0f);
  }
  score_rows<Cache, 0, kCols>(tile, tile.rows, q, acc);
  if constexpr (Cache::kParts == 2) {
    score_rows<Cache, 1, kCols>(tile, tile.dim - tile.rows, q + tile.rows * kCols, acc);
  }
#pragma GCC unroll 16
  for (int c = 0; c < kCols; ++c) {
#pragma GCC unroll 4
    for (int v = 0; v < kAttentionVectors; ++v) {
      store(scores + c * kAttentionSpan + 16 * v, acc[c][v]);
    }
  }
  if (finish.key_scales == nullptr && finish.soft_cap <= 0.0f) return;
  for (int c = 0; c < kCols; ++c) {
    for (int v = 0; v < kAttentionVectors; ++v) {
      finish_scores(scores + c * kAttentionSpan + 16 * v,
                    finish.key_scales == nullptr ? nullptr : finish.key_scales + 16 * v, finish);
    }
  }
}

struct Softmax {
  float max;
  float sum;
};
/// Turns scores [16 * vectors] of a column into weights 2^(s - max), finally times value_scales, if
/// any.
inline Softmax soften(float* scores, uint32_t vectors, const float* value_scales) {
  F32x16 largest = load(scores);
  for (uint32_t i = 1; i < vectors; ++i) largest = max(load(scores + 16 * i), largest);
  const float top = max_lane(largest);
  F32x16 total = broadcast(0.0f);
  for (uint32_t i = 0; i < vectors; ++i) {
    const F32x16 w = exp2(sub(load(scores + 16 * i), broadcast(top)));
    total = add(total, w);
    store(scores + 16 * i, value_scales == nullptr ? w : mul(w, load(value_scales + 16 * i)));
  }
  return {top, sum(total)};
}

/// Values of some positions and a prefetch address.
struct ValueTile {
  const uint8_t* values;
  uint64_t row_bytes;  // distance between positions
  uint64_t count;
  const uint8_t* ahead;
};

/// out[c][d] += sum_p weights[c][p] value[p][d] for kCols columns and 16 * kVecs dimensions.
template <typename Cache, int kVecs, int kPart, int kCols>
inline void add_values_tile(const ValueTile& tile, const float* weights, float* out,
                            uint64_t stride) {
  F32x16 acc[kCols][kVecs];
#pragma GCC unroll 16
  for (int c = 0; c < kCols; ++c) {
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) acc[c][v] = load(out + c * stride + 16 * v);
  }
  const uint8_t* values = tile.values;
  const uint8_t* ahead = tile.ahead;
  for (uint64_t p = 0; p < tile.count; ++p) {
    prefetch<kVecs * Cache::kVectorBytes / Cache::kParts>(ahead);
    F32x16 x[kVecs];
    [&]<int... v>(std::integer_sequence<int, v...>) {
      ((x[v] = Cache::template load_16<(kPart + v) % Cache::kParts>(
            values + v / Cache::kParts * Cache::kVectorBytes)),
       ...);
    }
    (std::make_integer_sequence<int, kVecs>{});
#pragma GCC unroll 16
    for (int c = 0; c < kCols; ++c) {
      const F32x16 w = broadcast(weights[c * kAttentionSpan + p]);
#pragma GCC unroll 4
      for (int v = 0; v < kVecs; ++v) acc[c][v] = fma(x[v], w, acc[c][v]);
    }
    values += tile.row_bytes;
    ahead += tile.row_bytes;
  }
#pragma GCC unroll 16
  for (int c = 0; c < kCols; ++c) {
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) store(out + c * stride + 16 * v, acc[c][v]);
  }
}

/// Adds values, 16 * kVecs dimensions at a time from vector `at` on, for all columns; returns the
/// next vector.
template <typename Cache, int kVecs, int kPart>
inline void add_values_block(const ValueTile& tile, uint64_t at, const float* weights, float* out,
                             uint64_t stride, uint32_t columns) {
  ValueTile part = tile;
  part.values += at / Cache::kParts * Cache::kVectorBytes;
  part.ahead += at / Cache::kParts * Cache::kVectorBytes;
  for_columns<kValueColumns>(0, columns, [&](auto size, uint32_t c) {
    add_values_tile<Cache, kVecs, kPart, size.value>(part, weights + uint64_t{c} * kAttentionSpan,
                                                     out + c * stride + 16 * at, stride);
  });
}

/// Adds values for all dimensions (stride / 16 vectors) and any number of columns.
template <typename Cache>
inline void add_values(const ValueTile& tile, const float* weights, float* out, uint64_t stride,
                       uint32_t columns) {
  const uint64_t vectors = stride / 16;
  uint64_t v = 0;
  if constexpr (kValueVectors >= 4) {
    for (; v + 4 <= vectors; v += 4) {
      add_values_block<Cache, 4, 0>(tile, v, weights, out, stride, columns);
    }
  }
  if constexpr (kValueVectors >= 2) {
    for (; v + 2 <= vectors; v += 2) {
      add_values_block<Cache, 2, 0>(tile, v, weights, out, stride, columns);
    }
  }
  for (; v < vectors; ++v) {
    if (Cache::kParts == 2 && v % 2 == 1) {
      add_values_block<Cache, 1, Cache::kParts - 1>(tile, v, weights, out, stride, columns);
    } else {
      add_values_block<Cache, 1, 0>(tile, v, weights, out, stride, columns);
    }
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
