// Attention of one token over one KV head's cache, for all query heads of that KV head at once, so
// that keys and values are read once. Included by kernels_<isa>.cpp after kernel_rows.h.
//
// The positions are cut at multiples of kAttentionSpan. Each span gives (maximum, sum, weighted
// values) on its own, and the spans are merged in order: what a position contributes never depends
// on slices, threads or neighbours.
#pragma once

#include "backends/cpu/cache_block.h"
#include "backends/cpu/kernel_rows.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr float kNegativeInfinity = -__builtin_inff();

inline F32x16 load_cache(const float* p) { return load(p); }
inline F32x16 load_cache(const uint16_t* p) { return load_f16(p); }

inline float exp_of(float x) {
  float lanes[16];
  store(lanes, exp(broadcast(x)));
  return lanes[0];
}

/// One span of positions and the part results over it.
struct Span {
  uint32_t start;       // multiple of kAttentionSpan
  uint32_t first, end;  // attended positions
};

/// scores[h][p - start] for 16 positions of a block from `position` on and kHeads heads.
template <typename Element, int kHeads>
inline void score_16(const AttentionArgs& a, const Element* keys, uint64_t token_stride,
                     uint32_t head, float* scores) {
  F32x16 acc[kHeads];
  for (F32x16& x : acc) x = broadcast(0.0f);
  const float* q = a.q + static_cast<uint64_t>(head) * a.key_dim;
  for (uint32_t d = 0; d < a.key_dim; ++d) {
    const F32x16 k = load_cache(keys + d * token_stride);
    for (int h = 0; h < kHeads; ++h) {
      acc[h] = fma(k, broadcast(q[static_cast<uint32_t>(h) * a.key_dim + d]), acc[h]);
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    F32x16 s = mul(acc[h], broadcast(a.scale));
    if (a.soft_cap > 0.0f) {
      const F32x16 cap = broadcast(a.soft_cap);
      s = mul(cap, tanh(div(s, cap)));
    }
    store(scores + (head + static_cast<uint32_t>(h)) * kAttentionSpan, s);
  }
}

/// Scores of all heads over the span; positions that are not attended get minus infinity.
template <typename Element>
inline void score_span(const AttentionArgs& a, const CacheBlock& shape, const Span& span,
                       float* scores) {
  const uint64_t stride = shape.token_stride();
  for (uint32_t p = span.first / 16 * 16; p < span.end; p += 16) {
    // 16 consecutive positions lie in one block: block_tokens is a multiple of 16 (compile checks).
    const auto* block =
        reinterpret_cast<const Element*>(a.blocks[p / a.block_tokens] + a.area_offset);
    const Element* keys = block + p % a.block_tokens;
    float* out = scores + (p - span.start);
    uint32_t h = 0;
    for (; h + 4 <= a.num_heads; h += 4) score_16<Element, 4>(a, keys, stride, h, out);
    for (; h + 2 <= a.num_heads; h += 2) score_16<Element, 2>(a, keys, stride, h, out);
    for (; h < a.num_heads; ++h) score_16<Element, 1>(a, keys, stride, h, out);
    for (uint32_t i = 0; i < 16; ++i) {
      if (p + i >= span.first && p + i < span.end) continue;
      for (h = 0; h < a.num_heads; ++h) out[h * kAttentionSpan + i] = kNegativeInfinity;
    }
  }
}

/// Turns scores into weights e^(s - max) and returns (max, sum) of a head.
struct Softmax {
  float max;
  float sum;
};
inline Softmax weigh_span(const Span& span, float* scores) {
  const uint32_t begin = span.first / 16 * 16 - span.start;
  const uint32_t end = span.end - span.start;
  F32x16 largest = broadcast(kNegativeInfinity);
  for (uint32_t i = begin; i < end; i += 16) largest = max(load(scores + i), largest);
  const float top = max_lane(largest);
  F32x16 total = broadcast(0.0f);
  for (uint32_t i = begin; i < end; i += 16) {
    const F32x16 w = exp(sub(load(scores + i), broadcast(top)));
    store(scores + i, w);
    total = add(total, w);
  }
  return {top, sum(total)};
}

/// out[h] = sum_p weight[h][p] value[p] for kHeads heads and 16 dimensions from `dim` on.
template <typename Element, int kHeads>
inline void add_values_16(const AttentionArgs& a, const CacheBlock& shape, const Span& span,
                          const float* weights, uint32_t head, uint32_t dim, float* out) {
  F32x16 acc[kHeads];
  for (F32x16& x : acc) x = broadcast(0.0f);
  for (uint32_t p = span.first; p < span.end;) {
    const uint32_t offset = p % a.block_tokens;
    const uint32_t left = a.block_tokens - offset;
    const uint32_t count = span.end - p < left ? span.end - p : left;
    const auto* values =
        reinterpret_cast<const Element*>(a.blocks[p / a.block_tokens] + a.area_offset) +
        shape.value_offset() + offset * shape.value_stride() + dim;
    const float* w = weights + (p - span.start);
    for (uint32_t i = 0; i < count; ++i) {
      const F32x16 v = load_cache(values + i * shape.value_stride());
      for (int h = 0; h < kHeads; ++h) {
        const float weight = w[(head + static_cast<uint32_t>(h)) * kAttentionSpan + i];
        acc[h] = fma(v, broadcast(weight), acc[h]);
      }
    }
    p += count;
  }
  for (int h = 0; h < kHeads; ++h) {
    store(out + (head + static_cast<uint32_t>(h)) * shape.value_stride() + dim, acc[h]);
  }
}

template <typename Element>
inline void add_values(const AttentionArgs& a, const CacheBlock& shape, const Span& span,
                       const float* weights, float* out) {
  for (uint32_t dim = 0; dim < a.value_dim; dim += 16) {
    uint32_t h = 0;
    for (; h + 4 <= a.num_heads; h += 4) {
      add_values_16<Element, 4>(a, shape, span, weights, h, dim, out);
    }
    for (; h < a.num_heads; ++h) {
      add_values_16<Element, 1>(a, shape, span, weights, h, dim, out);
    }
  }
}

/// Running result of one head: weighted values of all spans so far, relative to `softmax.max`.
inline void merge(Softmax& into, float* values, const Softmax& part, const float* part_values,
                  uint64_t n) {
  const float top = into.max > part.max ? into.max : part.max;
  const float keep = into.sum == 0.0f ? 0.0f : exp_of(into.max - top);
  const float gain = exp_of(part.max - top);
  into = {top, into.sum * keep + part.sum * gain};
  for (uint64_t i = 0; i < n; i += 16) {
    const F32x16 kept = mul(load(values + i), broadcast(keep));
    store(values + i, fma(load(part_values + i), broadcast(gain), kept));
  }
}

/// Scratch, in floats: scores [num_heads][kAttentionSpan], part values and results
/// [num_heads][value_stride] each, state [num_heads][2].
template <typename Element>
void attention(const AttentionArgs& a) noexcept {
  const CacheBlock shape{a.block_tokens, a.key_dim, a.value_dim};
  const uint64_t stride = shape.value_stride();
  float* scores = a.scratch;
  float* part = scores + static_cast<uint64_t>(a.num_heads) * kAttentionSpan;
  float* result = part + a.num_heads * stride;
  auto* state = reinterpret_cast<Softmax*>(result + a.num_heads * stride);
  std::memset(result, 0, a.num_heads * stride * sizeof(float));
  for (uint32_t h = 0; h < a.num_heads; ++h) state[h] = {kNegativeInfinity, 0.0f};

  for (uint32_t start = a.first / kAttentionSpan * kAttentionSpan; start < a.end;
       start += kAttentionSpan) {
    const Span span{start, start > a.first ? start : a.first,
                    a.end < start + kAttentionSpan ? a.end : start + kAttentionSpan};
    Softmax* parts = state + a.num_heads;
    score_span<Element>(a, shape, span, scores);
    for (uint32_t h = 0; h < a.num_heads; ++h) {
      parts[h] = weigh_span(span, scores + h * kAttentionSpan);
    }
    add_values<Element>(a, shape, span, scores, part);
    for (uint32_t h = 0; h < a.num_heads; ++h) {
      merge(state[h], result + h * stride, parts[h], part + h * stride, stride);
    }
  }
  for (uint32_t h = 0; h < a.num_heads; ++h) {
    if (a.sinks != nullptr) {
      const float top = state[h].max > a.sinks[h] ? state[h].max : a.sinks[h];
      const float keep = exp_of(state[h].max - top);
      state[h].sum = state[h].sum * keep + exp_of(a.sinks[h] - top);
      scale_row(result + h * stride, keep, result + h * stride, stride);
    }
    scale_row(result + h * stride, 1.0f / state[h].sum, a.out + h * a.value_dim, a.value_dim);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
