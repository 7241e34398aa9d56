// attention: a workgroup per token and query head. It processes the positions in chunks at
// multiples of kThreads, whatever the step, with a score per thread; then each thread sums the
// values of its columns (softmax by running maxima: Milakov and Gimelshein, arXiv 1805.02867).
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "backends/gpu/kernels/reduce.inl"

layout(constant_id = 1) const uint kCacheType = 0;
#define cache_type() kCacheType
layout(constant_id = 2) const uint kColumns = 64;  // of a key or a value, a multiple of 8

TENON_STAGE(AttentionStage)

// The query while scores are computed, then the result, rotated for a 4-bit cache.
shared float rotated[kColumns];
shared float sums[kColumns];
shared float factors[kThreads];  // of the chunk: weights times value scales
shared Address value_rows[kThreads];

#include "backends/gpu/kernels/attention_rows.inl"
#include "backends/gpu/kernels/rotation.inl"

void main() {
  const uint thread = gl_LocalInvocationID.x;
  const uint token = gl_WorkGroupID.y;
  const uint head = gl_WorkGroupID.x;
  Step step = Step(stage.step);
  const CacheLayer cache = stage.cache;
  const uint kv_head = head / (stage.heads / cache.kv_heads);
  const TokenPlace place = Places(step.header.places).at[token];
  const uint own = place.position;
  // Rows of a latent 4-bit cache are rotated whole, even if only a part is the value.
  const bool whole = cache.latent != 0 && kCacheType == kCacheQ4;
  const uint columns = whole ? cache.key_dim : cache.value_dim;

  for (uint d = thread; d < kColumns; d += kThreads) {
    const uint at = (token * stage.heads + head) * cache.key_dim + d;
    rotated[d] = d < cache.key_dim ? Floats(stage.query).at[at] : 0;
  }
  for (uint d = thread; d < columns; d += kThreads) sums[d] = 0;
  barrier();
  if (kCacheType == kCacheQ4) rotate(cache.key_dim);

  const bool has_pools = stage.has_pools != 0;
  const bool selects = stage.selection != 0 && !has_pools;
  Selected selection;
  uvec2 range;
  uint before_pools = 0xFFFFFFFFu;  // rows before the pools
  if (selects) {
    selection = selected_positions(token, kv_head, own);
    range = uvec2(0, selection.count);
  } else {
    range = seen(place, Spans(step.header.spans).at[place.sequence]);
  }
  if (has_pools) {
    before_pools = range.y;
    range.y += seen_pools(token, own);
  }
  float highest = stage.sinks == 0 ? -infinity() : Floats(stage.sinks).at[head];
  float sum = stage.sinks == 0 ? 0 : 1;
  for (uint first = range.x - range.x % kThreads; first < range.y; first += kThreads) {
    const uint i = first + thread;
    float score = -infinity();
    float value_scale = 0;
    if (i >= range.x && i < range.y) {
      const uint position = selects ? selected_position(selection, i) : i;
      CacheRow row;
      if (i < before_pools) row = cache_row(step, cache, place.sequence, kv_head, position);
      else row = pool_row(step, place.sequence, token, i - before_pools);
      score = score_of(cache_key(cache, row), head, own, position);
      Words value = cache_value(cache, row);  // pools share this layout
      value_rows[thread] = Address(value);
      value_scale = cache_scale(value, cache.latent != 0 ? cache.key_dim : cache.value_dim);
    }
    const float top = max(highest, group_max(score));
    if (top == -infinity()) continue;
    const float kept = highest == -infinity() ? 0 : exp_of(highest - top);
    const float weight = score == -infinity() ? 0 : exp_of(score - top);
    factors[thread] = weight * value_scale;
    sum = sum * kept + group_sum(weight);
    highest = top;
    barrier();
    const uint begin = max(first, range.x) - first;
    const uint end = min(first + kThreads, range.y) - first;
    for (uint d = thread; d < columns; d += kThreads) {
      float total = sums[d] * kept;
      for (uint piece = 0; piece < end; piece += 4) {
        for (uint j = piece; j < piece + 4; ++j) {
          if (j < begin || j >= end) continue;
          total += factors[j] * cache_code(Words(value_rows[j]), d);
        }
      }
      sums[d] = total;
    }
    barrier();
  }

  barrier();
  for (uint d = thread; d < columns; d += kThreads) rotated[d] = sums[d];
  barrier();
  if (kCacheType == kCacheQ4) rotate(columns);
  for (uint d = thread; d < cache.value_dim; d += kThreads) {
    Floats(stage.y).at[(token * stage.heads + head) * cache.value_dim + d] = rotated[d] / sum;
  }
}
