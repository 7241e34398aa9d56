// Attention of a tile of tokens over one KV head's cache. Included by kernels_<isa>.cpp after
// kernel_attention_tiles.h.
//
// All query heads of the KV head times all tokens of the tile are columns, so that keys and values
// are read once for all of them. The positions are cut at multiples of kAttentionSpan. Each span
// gives (maximum, sum, weighted values), and the spans are merged in order: a position's
// contribution never depends on tiles, slices, threads or neighbours.
#pragma once

#include "backends/cpu/kernels/kernel_attention_bias.h"
#include "backends/cpu/kernels/kernel_attention_latent.h"
#include "backends/cpu/kernels/kernel_attention_span.h"
#include "backends/cpu/kernels/kernel_attention_tiles.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Queries, scaled (and rotated where keys are), in the order in which the score kernels read them.
template <typename Cache>
inline void pack_queries(const AttentionArgs& a, float* packed) {
  const uint32_t dim = a.shape.key_dim;
  const float factor = a.soft_cap > 0.0f ? a.scale : a.scale * kLog2E;
  if (a.shape.latent) return pack_latent_queries<Cache>(a, factor, packed);
  for_columns<kAttentionColumns>(0, a.columns(), [&](auto size, uint32_t first) {
    float* block = packed + uint64_t{first} * dim;
    for (uint32_t c = 0; c < size.value; ++c) {
      const uint32_t token = (first + c) / a.heads;
      const float* q = a.q + token * a.q_stride + uint64_t{(first + c) % a.heads} * dim;
      float rotated[kMaxCacheRow];
      if constexpr (Cache::kType == CacheType::Q4) {
        std::memcpy(rotated, q, dim * sizeof(float));
        rotate_row(rotated, dim);
        q = rotated;
      }
      for (uint32_t d = 0; d < dim; ++d) block[d * size.value + c] = q[d] * factor;
    }
  });
}

/// Scales of the span's positions as f32.
inline void load_scales(const AttentionArgs& a, const Span& span, uint64_t offset, float* scales) {
  for (uint32_t p = span.first / 16 * 16; p < span.end; p += 16) {
    const uint8_t* area = area_of(a, p) + offset + p % a.shape.block_tokens * sizeof(uint16_t);
    store(scales + (p - span.start), load_f16(reinterpret_cast<const uint16_t*>(area)));
  }
}

/// scale (and soft cap) of the kernels' sums.
inline ScoreFinish finish_of(const AttentionArgs& a, const float* key_scales) {
  return {a.shape.scaled() ? key_scales : nullptr, a.soft_cap, a.soft_cap * kLog2E};
}

/// Address to prefetch while the block of `position` is read (a span's keys first, then its
/// values): data read two blocks later, about one memory latency.
inline const uint8_t* ahead_of_keys(const AttentionArgs& a, const Span& span, uint32_t position) {
  const uint32_t tokens = a.shape.block_tokens;
  const uint32_t next = position / tokens * tokens + 2 * tokens;
  if (next < span.end) return area_of(a, next);
  const uint32_t first = span.first / tokens * tokens;
  const uint32_t after = first + (next - (span.end + tokens - 1) / tokens * tokens);
  return area_of(a, after < span.end ? after : first) + a.shape.value_offset();
}
inline const uint8_t* ahead_of_values(const AttentionArgs& a, const Span& span, uint32_t position) {
  const uint32_t tokens = a.shape.block_tokens;
  const uint32_t next = position / tokens * tokens + 2 * tokens;
  if (next < span.end) return area_of(a, next) + a.shape.value_offset();
  return area_of(a, next < range_of(a, a.num_tokens - 1).end ? next : position);
}

/// Scores of the span's columns.
template <typename Cache>
inline void score_span(const AttentionArgs& a, const Span& span, const AttentionScratch& s) {
  constexpr uint32_t kWidth = 16 * kAttentionVectors;
  const CacheBlock& shape = a.shape;
  const uint32_t first_column = span.first_token * a.heads;
  const uint32_t end_column = span.end_token * a.heads;
  const auto vector_of = [&](const uint8_t* area, uint32_t position) {
    return area + position % shape.block_tokens / 16 * Cache::kVectorBytes;
  };
  for (uint32_t p = span.first / kWidth * kWidth; p < span.end; p += kWidth) {
    KeyTile keys{{},
                 shape.key_row_bytes(),
                 shape.key_rows(),
                 shape.key_dim,
                 vector_of(ahead_of_keys(a, span, p), p)};
    for (uint32_t v = 0; v < kAttentionVectors; ++v) {
      // Scores past the end are ignored.
      const uint32_t at = p + 16 * v < span.end ? p + 16 * v : p;
      keys.vectors[v] = vector_of(area_of(a, at), at);
    }
    const uint32_t at = p - span.start;
    const ScoreFinish finish = finish_of(a, s.key_scales + at);
    for_columns<kAttentionColumns>(0, a.columns(), [&](auto size, uint32_t c) {
      if (c + size.value <= first_column || c >= end_column) return;
      score<Cache, size.value>(keys, s.q + uint64_t{c} * shape.key_dim, finish,
                               s.scores + uint64_t{c} * kAttentionSpan + at);
    });
  }
}

/// Turns the scores of a column into weights 2^(s - max), times the values' scales, and completes
/// the part.
inline void weigh(const AttentionArgs& a, const Span& span, const AttentionScratch& s,
                  AttentionPartial& part) {
  const bool biased = a.bias.slopes != nullptr || a.bias.table != nullptr;
  for (uint32_t t = span.first_token; t < span.end_token; ++t) {
    const Range range = range_in(a, span, t);
    const uint32_t first = range.first - span.start;
    const uint32_t end = range.end - span.start;
    if (biased) add_bias(a, span, s, t);
    for (uint32_t c = t * a.heads; c < (t + 1) * a.heads; ++c) {
      float* scores = s.scores + uint64_t{c} * kAttentionSpan;
      for (uint32_t i = first / 16 * 16; i < first; ++i) scores[i] = kNegativeInfinity;
      for (uint32_t i = end; i % 16 != 0; ++i) scores[i] = kNegativeInfinity;
      const Softmax softmax = soften(scores + first / 16 * 16, (end + 15) / 16 - first / 16,
                                     a.shape.scaled() ? s.value_scales + first / 16 * 16 : nullptr);
      part.max[c] = softmax.max;
      part.sum[c] = softmax.sum;
    }
  }
}

/// Adds weight times value over positions [first, end) to columns [column, column + count).
template <typename Cache>
inline void add_range(const AttentionArgs& a, const Span& span, const AttentionScratch& s,
                      const AttentionPartial& part, Range range, uint32_t column, uint32_t count) {
  const CacheBlock& shape = a.shape;
  const uint64_t stride = shape.value_stride();
  for (uint32_t p = range.first; p < range.end;) {
    const uint32_t slot = p % shape.block_tokens;
    const uint32_t left = shape.block_tokens - slot;
    const uint32_t n = range.end - p < left ? range.end - p : left;
    const uint8_t* rows = area_of(a, p) + shape.value_offset() + slot * shape.value_row_bytes();
    const ValueTile values{rows, shape.value_row_bytes(), n, ahead_of_values(a, span, p)};
    const float* weights = s.scores + uint64_t{column} * kAttentionSpan + (p - span.start);
    add_values<Cache>(values, weights, part.values + column * stride, stride, count);
    p += n;
  }
}

/// Adds the weighted values of a span: positions seen by all tokens at once, others token by token;
/// each column in position order.
template <typename Cache>
inline void add_span(const AttentionArgs& a, const Span& span, const AttentionScratch& s,
                     const AttentionPartial& part) {
  const uint64_t stride = a.shape.value_stride();
  const uint32_t columns = (span.end_token - span.first_token) * a.heads;
  const uint32_t first_column = span.first_token * a.heads;
  std::memset(part.values + first_column * stride, 0, columns * stride * sizeof(float));
  const auto each_token = [&](auto clip) {
    for (uint32_t t = span.first_token; t < span.end_token; ++t) {
      const Range range = clip(range_in(a, span, t));
      if (range.first < range.end) add_range<Cache>(a, span, s, part, range, t * a.heads, a.heads);
    }
  };
  each_token([&](Range r) {
    return Range{r.first, r.end < span.common_first ? r.end : span.common_first};
  });
  if (span.common_first < span.common_end) {
    const Range common{span.common_first, span.common_end};
    add_range<Cache>(a, span, s, part, common, first_column, columns);
  }
  each_token([&](Range r) {
    return Range{r.first > span.common_end ? r.first : span.common_end, r.end};
  });
}

/// Computes (maximum, sum, weighted values) of a span; sum 0 means that the column attends to no
/// position of it.
template <typename Cache>
inline void attend_span(const AttentionArgs& a, const AttentionScratch& s, uint32_t start,
                        AttentionPartial part) {
  const Span span = span_at(a, start);
  std::memset(part.sum, 0, a.columns() * sizeof(float));
  if (span.first_token == span.end_token) return;
  if (a.shape.scaled()) {
    load_scales(a, span, a.shape.key_scale_offset(), s.key_scales);
    load_scales(a, span, a.shape.value_scale_offset(), s.value_scales);
  }
  if (a.shape.latent) {
    score_latent_span<Cache>(a, span, s, finish_of(a, s.key_scales));
  } else {
    score_span<Cache>(a, span, s);
  }
  weigh(a, span, s, part);
  add_span<Cache>(a, span, s, part);
}

/// Merges a span into the result of the spans before. Sum 0 means no position yet.
inline void merge(uint32_t columns, uint64_t stride, AttentionPartial state,
                  AttentionPartial part) {
  for (uint32_t first = 0; first < columns; first += 16) {
    float keep[16], gain[16], top[16];
    const F32x16 largest = max(load(state.max + first), load(part.max + first));
    store(top, largest);
    store(keep, exp2(sub(load(state.max + first), largest)));
    store(gain, exp2(sub(load(part.max + first), largest)));
    for (uint32_t c = first; c < columns && c < first + 16; ++c) {
      const uint32_t i = c - first;
      if (part.sum[c] == 0.0f) continue;
      float* into = state.values + c * stride;
      const float* from = part.values + c * stride;
      if (state.sum[c] == 0.0f) {
        state.max[c] = part.max[c];
        state.sum[c] = part.sum[c];
        std::memcpy(into, from, stride * sizeof(float));
        continue;
      }
      state.max[c] = top[i];
      state.sum[c] = state.sum[c] * keep[i] + part.sum[c] * gain[i];
      for (uint64_t d = 0; d < stride; d += 16) {
        const F32x16 kept = mul(load(into + d), broadcast(keep[i]));
        store(into + d, fma(load(from + d), broadcast(gain[i]), kept));
      }
    }
  }
}

/// Adds the sinks, divides by the sum, and rotates values back.
inline void finish(const AttentionArgs& a, AttentionPartial state) {
  const uint64_t stride = a.shape.value_stride();
  for (uint32_t c = 0; c < a.columns(); ++c) {
    float* values = state.values + c * stride;
    float sum = state.sum[c];
    float keep = 1.0f;
    if (a.sinks != nullptr) {
      const float sink = a.sinks[c % a.heads] * kLog2E;
      const float top = state.max[c] > sink ? state.max[c] : sink;
      keep = exp2_of(state.max[c] - top);
      sum = sum * keep + exp2_of(sink - top);
    }
    if (a.shape.type == CacheType::Q4) rotate_row(values, a.shape.value_columns());
    float* out = a.out + c / a.heads * a.out_stride + uint64_t{c % a.heads} * a.shape.value_dim;
    scale_row(values, keep / sum, out, a.shape.value_dim);
  }
}

inline void clear_state(const AttentionArgs& a, AttentionPartial state) {
  for (uint32_t c = 0; c < a.columns(); ++c) {
    state.max[c] = kNegativeInfinity;
    state.sum[c] = 0.0f;
  }
}

template <typename Cache>
void attention(const AttentionArgs& a) noexcept {
  const AttentionScratch s = carve(a);
  pack_queries<Cache>(a, s.q);
  const uint64_t stride = a.shape.value_stride();
  if (a.partials != nullptr) {
    float* next = a.partials;
    for (uint32_t span = a.first_span; span < a.end_span; ++span) {
      attend_span<Cache>(a, s, span * kAttentionSpan, attention_partial(next, a.columns()));
      next += attention_partial_floats(a.columns(), stride);
    }
    return;
  }
  clear_state(a, s.state);
  for (uint32_t span = a.first_span; span < a.end_span; ++span) {
    attend_span<Cache>(a, s, span * kAttentionSpan, s.part);
    merge(a.columns(), stride, s.state, s.part);
  }
  finish(a, s.state);
}

/// Scores of the positions of a span for one token, whose index heads are the columns
/// (TENON_OP_SELECT): sum of weights [heads] times max(q.k, 0), heads in order.
///   scores  [kAttentionSpan]; undefined after the token's own position
template <typename Cache>
void index_scores(const AttentionArgs& a, const float* weights, float* scores) noexcept {
  const AttentionScratch s = carve(a);
  const Span span = span_at(a, a.first_span * kAttentionSpan);
  pack_latent_queries<Cache>(a, 1.0f, s.q);
  if (a.shape.scaled()) load_scales(a, span, a.shape.key_scale_offset(), s.key_scales);
  score_latent_span<Cache>(a, span, s, finish_of(a, s.key_scales));
  for (uint32_t i = 0; i < span.end - span.start; i += 16) {
    F32x16 total = broadcast(0.0f);
    for (uint32_t h = 0; h < a.heads; ++h) {
      // max(a, NaN) is NaN: see max
      const F32x16 product =
          max(broadcast(0.0f), load(s.scores + uint64_t{h} * kAttentionSpan + i));
      total = fma(product, broadcast(weights[h]), total);
    }
    store(scores + i, total);
  }
}

/// Products q.k of one index head with the positions of a span (TENON_OP_SELECT_BLOCKS).
///   products  [kAttentionSpan]; undefined after the token's own position
template <typename Cache>
void index_products(const AttentionArgs& a, float* products) noexcept {
  const AttentionScratch s = carve(a);
  const Span span = span_at(a, a.first_span * kAttentionSpan);
  pack_latent_queries<Cache>(a, 1.0f, s.q);
  if (a.shape.scaled()) load_scales(a, span, a.shape.key_scale_offset(), s.key_scales);
  score_latent_span<Cache>(a, span, s, finish_of(a, s.key_scales));
  std::memcpy(products, s.scores, kAttentionSpan * sizeof(float));
}

/// Merges the partials of all spans, made by earlier calls of attention, into the result.
inline void attention_merge(const AttentionArgs& a) noexcept {
  const AttentionScratch s = carve(a);
  const uint64_t stride = a.shape.value_stride();
  clear_state(a, s.state);
  float* next = a.partials;
  for (uint32_t span = a.first_span; span < a.end_span; ++span) {
    merge(a.columns(), stride, s.state, attention_partial(next, a.columns()));
    next += attention_partial_floats(a.columns(), stride);
  }
  finish(a, s.state);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
