// State of an attention kernel call: its scratch, a span of positions, and the ranges of its
// tokens. Included by kernel_attention.h.
#pragma once

#include <utility>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// The scores are kept in units of ln 2, so that the softmax needs 2^x only.
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kNegativeInfinity = -__builtin_inff();

/// The arrays of one call, carved from its scratch.
struct AttentionScratch {
  float* q;                // [columns, query_stride], scaled, in the order of pack_queries
  float* scores;           // [columns, kAttentionSpan], then the weights
  float* key_scales;       // [kAttentionSpan]
  float* value_scales;     // [kAttentionSpan]
  AttentionPartial part;   // of one span
  AttentionPartial state;  // of all spans so far
};

inline AttentionScratch carve(const AttentionArgs& a) {
  const uint64_t columns = a.columns();
  const uint64_t stride = a.shape.value_stride();
  float* next = a.scratch;
  const auto take = [&next](uint64_t floats) {
    return std::exchange(next, next + CacheBlock::round_up(floats, 16));
  };
  AttentionScratch s{};
  s.q = take(columns * a.shape.query_stride());
  s.scores = take(columns * kAttentionSpan);
  s.key_scales = take(kAttentionSpan);
  s.value_scales = take(kAttentionSpan);
  s.part = attention_partial(take(attention_partial_floats(columns, stride)), columns);
  s.state = attention_partial(take(attention_partial_floats(columns, stride)), columns);
  return s;
}

/// A span of positions and the tokens that attend to it.
struct Span {
  uint32_t start;  // multiple of kAttentionSpan
  uint32_t first_token,
      end_token;        // of the tile: those that attend to some of it
  uint32_t first, end;  // positions that any of them attends to
  uint32_t common_first,
      common_end;  // positions that all of them attend to, if any
};

/// Positions [first, end) that token t of the tile attends to.
using Range = SeenPositions;
inline Range range_of(const AttentionArgs& a, uint32_t token) {
  return seen_positions(a.mask, a.window, a.position + token, a.positions);
}
inline Range range_in(const AttentionArgs& a, const Span& span, uint32_t token) {
  const Range all = range_of(a, token);
  const uint32_t end = span.start + kAttentionSpan;
  return {all.first > span.start ? all.first : span.start, all.end < end ? all.end : end};
}

inline Span span_at(const AttentionArgs& a, uint32_t start) {
  Span s{};
  s.start = start;
  s.end_token = a.num_tokens;
  while (s.first_token < a.num_tokens && range_of(a, s.first_token).end <= start) ++s.first_token;
  while (s.end_token > s.first_token &&
         range_of(a, s.end_token - 1).first >= start + kAttentionSpan) {
    --s.end_token;
  }
  if (s.first_token == s.end_token) return s;
  const Range oldest = range_in(a, s, s.first_token);
  const Range newest = range_in(a, s, s.end_token - 1);
  s.first = oldest.first;
  s.end = newest.end;
  s.common_first = newest.first;
  s.common_end = oldest.end > newest.first ? oldest.end : newest.first;
  return s;
}

/// A position's area in the cache.
inline const uint8_t* area_of(const AttentionArgs& a, uint32_t position) {
  return a.blocks[position / a.shape.block_tokens] + a.area_offset;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
