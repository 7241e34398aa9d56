// Scores over latent rows (multi-head latent attention, arXiv:2405.04434, section 2.1): the one row
// of a position serves all query heads, and the weighted sums read it again from the cache of the
// core. Included by kernel_attention.h.
//
// Each score is 16 chains of fused multiply-adds, one for every sixteenth dimension, and one order
// of adding them up, whatever the number of columns or rows of a call.
#pragma once

#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/kernel_attention_span.h"
#include "backends/cpu/kernels/kernel_attention_tiles.h"
#include "backends/cpu/kernels/kernel_cache.h"
#include "backends/cpu/kernels/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Rows and columns multiplied at once, limited by the registers for sums (sums_of takes four).
inline constexpr int kLatentRows = kAttentionColumns >= 12 ? 4 : 2;
inline constexpr int kLatentColumns = kAttentionColumns >= 12 ? 6 : 2;

/// Packs the scaled (and rotated, as rows are) queries contiguously, padded with zeros.
template <typename Cache>
inline void pack_latent_queries(const AttentionArgs& a, float factor, float* packed) {
  const uint32_t dim = a.shape.key_dim;
  const uint64_t stride = a.shape.query_stride();
  for (uint32_t c = 0; c < a.columns(); ++c) {
    const float* q = a.q + c / a.heads * a.q_stride + uint64_t{c % a.heads} * dim;
    float* to = packed + c * stride;
    std::memcpy(to, q, dim * sizeof(float));
    std::memset(to + dim, 0, (stride - dim) * sizeof(float));
    if constexpr (Cache::kType == CacheType::Q4) rotate_row(to, dim);
    for (uint64_t d = 0; d < stride; d += 16) {
      store(to + d, mul(load(to + d), broadcast(factor)));
    }
  }
}

/// kLatentRows rows and a prefetch address.
struct LatentTile {
  const uint8_t* rows;
  uint64_t row_bytes;
  uint64_t vectors;  // of 16 dimensions in a row
  const uint8_t* ahead;
};

/// 16 dimensions of all rows and columns.
template <typename Cache, int kPart, int kCols>
inline void score_latent_vector(const LatentTile& tile, uint64_t at, const float* q,
                                uint64_t q_stride, F32x16 (&acc)[kCols][kLatentRows]) {
  F32x16 k[kLatentRows];
#pragma GCC unroll 4
  for (int r = 0; r < kLatentRows; ++r) {
    k[r] = Cache::template load_16<kPart>(tile.rows + r * tile.row_bytes + at);
  }
#pragma GCC unroll 16
  for (int c = 0; c < kCols; ++c) {
    const F32x16 x = load(q + c * q_stride);
#pragma GCC unroll 4
    for (int r = 0; r < kLatentRows; ++r) acc[c][r] = fma(k[r], x, acc[c][r]);
  }
}

/// scores[c][r] for kCols columns and kLatentRows rows.
///   q  [kCols, q_stride]
template <typename Cache, int kCols>
inline void score_latent(const LatentTile& tile, const float* q, uint64_t q_stride, float* scores) {
  F32x16 acc[kCols][kLatentRows];
#pragma GCC unroll 16
  for (int c = 0; c < kCols; ++c) {
#pragma GCC unroll 4
    for (int r = 0; r < kLatentRows; ++r) acc[c][r] = broadcast(0.0f);
  }
  uint64_t at = 0;
  for (uint64_t v = 0; v < tile.vectors; v += Cache::kParts) {
#pragma GCC unroll 4
    for (int r = 0; r < kLatentRows; ++r) {
      prefetch<static_cast<int>(Cache::kVectorBytes)>(tile.ahead + r * tile.row_bytes + at);
    }
    score_latent_vector<Cache, 0>(tile, at, q + 16 * v, q_stride, acc);
    if constexpr (Cache::kParts == 2) {
      score_latent_vector<Cache, 1>(tile, at, q + 16 * (v + 1), q_stride, acc);
    }
    at += Cache::kVectorBytes;
  }
#pragma GCC unroll 16
  for (int c = 0; c < kCols; ++c) {
    if constexpr (kLatentRows == 4) {
      const FourFloats sums = sums_of(acc[c]);
      std::memcpy(scores + c * kAttentionSpan, sums.v, sizeof(sums.v));
    } else {
      for (int r = 0; r < kLatentRows; ++r) scores[c * kAttentionSpan + r] = sum(acc[c][r]);
    }
  }
}

/// Scores of the span's columns, 16 positions at a time: their rows stay in the first-level cache
/// for all columns.
template <typename Cache>
inline void score_latent_span(const AttentionArgs& a, const Span& span, const AttentionScratch& s,
                              const ScoreFinish& finish) {
  const CacheBlock& shape = a.shape;
  const uint64_t stride = shape.query_stride();
  const uint32_t first_column = span.first_token * a.heads;
  const uint32_t end_column = span.end_token * a.heads;
  const uint32_t end = range_of(a, a.num_tokens - 1).end;
  const bool unfinished = finish.key_scales != nullptr || finish.soft_cap > 0.0f;
  for (uint32_t p = span.first / 16 * 16; p < span.end; p += 16) {
    const uint64_t first_row = p % shape.block_tokens * shape.value_row_bytes();
    const uint32_t next = p + 2 * shape.block_tokens;
    const uint8_t* rows = area_of(a, p) + first_row;
    const uint8_t* ahead = area_of(a, next < end ? next : p) + first_row;
    const uint32_t at = p - span.start;
    for_columns<kLatentColumns>(first_column, end_column, [&](auto size, uint32_t c) {
      for (uint32_t r = 0; r < 16; r += kLatentRows) {
        const LatentTile tile{rows + r * shape.value_row_bytes(), shape.value_row_bytes(),
                              stride / 16, ahead + r * shape.value_row_bytes()};
        score_latent<Cache, size.value>(tile, s.q + c * stride, stride,
                                        s.scores + uint64_t{c} * kAttentionSpan + at + r);
      }
    });
    for (uint32_t c = first_column; unfinished && c < end_column; ++c) {
      finish_scores(s.scores + uint64_t{c} * kAttentionSpan + at,
                    finish.key_scales == nullptr ? nullptr : finish.key_scales + at, finish);
    }
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
