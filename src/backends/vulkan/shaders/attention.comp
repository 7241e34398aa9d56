// attention: a workgroup for each token and query head. It goes through the positions in chunks that begin
// at multiples of kThreads, whatever the step, a score for each thread; then each thread adds up the
// values of its columns (softmax by running maxima: Milakov and Gimelshein, arXiv 1805.02867).
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "math.glsl"
#include "reduce.glsl"

layout(constant_id = 1) const uint kCacheType = 0;
layout(constant_id = 2) const uint kColumns = 64;  // of a key or a value, a multiple of 8

layout(buffer_reference, scalar) readonly buffer Parameters { AttentionStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

// The query while scores are computed; in the end the result, which a 4-bit cache gives rotated.
shared float rotated[kColumns];
shared float sums[kColumns];
shared float factors[kThreads];  // of the chunk: weights times scales of values
shared Address value_rows[kThreads];

#include "cache.glsl"
#include "rotate.glsl"

// Positions [x, y) that the token sees.
uvec2 seen(TokenPlace place, SequenceSpan span) {
  const uint own = place.position;
  const uint window = STAGE.window;
  const uint all = STAGE.cache.cross != 0 ? span.cross_positions : span.past + span.num_tokens;
  switch (STAGE.mask) {
    case kMaskCausal: return uvec2(window > 0 && own >= window ? own - window + 1 : 0, own + 1);
    case kMaskChunked: return uvec2(own - own % window, own + 1);
    case kMaskSymmetric:
      if (window == 0) return uvec2(0, all);
      return uvec2(own > window / 2 ? own - window / 2 : 0, min(all, own + window / 2 + 1));
    default: return uvec2(0, all);
  }
}

// What a selection names, as backends/common/selected_positions.h says.
struct Selected {
  uint first;  // of its part, in the row of numbers
  uint named;  // positions that numbers name
  uint rest;  // the first position after those that numbers can name
  uint count;
};

Selected selected_positions(uint token, uint kv_head, uint own) {
  const uint columns = STAGE.selection_columns / STAGE.selection_parts;
  const uint block = STAGE.selected_block;
  Selected s;
  s.first = token * STAGE.selection_columns + kv_head % STAGE.selection_parts * columns;
  const uint after = STAGE.selected_rest != 0 ? (own + 1) % block : 0;
  s.rest = own + 1 - after;
  Ints numbers = Ints(STAGE.selection);
  uint low = 0;  // numbers ascend, and -1 follows them
  uint high = columns;
  while (low < high) {
    const uint middle = (low + high) / 2;
    const int number = numbers.at[s.first + middle];
    if (number >= 0 && uint(number) * block < s.rest) low = middle + 1;
    else high = middle;
  }
  s.named = 0;
  if (low > 0) {
    const uint begin = uint(numbers.at[s.first + low - 1]) * block;
    s.named = (low - 1) * block + min(block, s.rest - begin);
  }
  s.count = s.named + after;
  return s;
}

uint selected_position(Selected s, uint i) {
  if (i >= s.named) return s.rest + i - s.named;
  const uint block = STAGE.selected_block;
  return uint(Ints(STAGE.selection).at[s.first + i / block]) * block + i % block;
}

// attention_pools: how many pools the token sees; a selection names the first ones of its row.
uint seen_pools(uint token, uint own) {
  const uint all = (own + 1) / STAGE.pools.stride;
  if (STAGE.selection == 0) return all;
  uint low = 0;  // numbers ascend, and -1 follows them
  uint high = STAGE.selection_columns;
  while (low < high) {
    const uint middle = (low + high) / 2;
    if (Ints(STAGE.selection).at[token * STAGE.selection_columns + middle] >= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

CacheRow pool_row(Step step, uint sequence, uint token, uint i) {
  const bool selects = STAGE.selection != 0;
  const uint number = selects ? uint(Ints(STAGE.selection).at[token * STAGE.selection_columns + i]) : i;
  return cache_row(step, STAGE.pools, sequence, 0, number);
}

float bias_of(uint head, uint own, uint position) {
  const uint distance = max(own, position) - min(own, position);
  if (STAGE.bias_kind == kBiasAlibi) return -Floats(STAGE.bias).at[head] * float(distance);
  uint bucket = 0;
  if (position <= own || STAGE.two_sided != 0) {
    for (uint b = 1; b < STAGE.side_buckets; ++b) {
      if (Words(STAGE.distances).at[b] <= distance) bucket = b;
    }
  }
  if (position > own && STAGE.two_sided != 0) bucket += STAGE.side_buckets;
  return Floats(STAGE.bias).at[bucket * STAGE.heads + head];
}

float score_of(Words key, uint head, uint own, uint position) {
  const uint key_dim = STAGE.cache.key_dim;
  float product = 0;
  for (uint d = 0; d < key_dim; d += 8) {
    float codes[8];
    cache_codes(key, d, key_dim, codes);
    for (uint i = 0; i < 8; ++i) product += rotated[d + i] * codes[i];
  }
  float score = product * cache_scale(key, key_dim) * STAGE.scale;
  if (STAGE.soft_cap > 0) score = STAGE.soft_cap * tanh_of(score / STAGE.soft_cap);
  return STAGE.bias_kind == kBiasNone ? score : score + bias_of(head, own, position);
}

void main() {
  const uint thread = gl_LocalInvocationID.x;
  const uint token = gl_WorkGroupID.y;
  const uint head = gl_WorkGroupID.x;
  Step step = Step(STAGE.step);
  const CacheLayer cache = STAGE.cache;
  const uint kv_head = head / (STAGE.heads / cache.kv_heads);
  const TokenPlace place = Places(step.header.places).at[token];
  const uint own = place.position;
  // Rows of a latent 4-bit cache are rotated as a whole, also where only a part is the value.
  const bool whole = cache.latent != 0 && kCacheType == kCacheQ4;
  const uint columns = whole ? cache.key_dim : cache.value_dim;

  for (uint d = thread; d < kColumns; d += kThreads) {
    const uint at = (token * STAGE.heads + head) * cache.key_dim + d;
    rotated[d] = d < cache.key_dim ? Floats(STAGE.query).at[at] : 0;
  }
  for (uint d = thread; d < columns; d += kThreads) sums[d] = 0;
  barrier();
  if (kCacheType == kCacheQ4) rotate(cache.key_dim);

  const bool has_pools = STAGE.has_pools != 0;
  const bool selects = STAGE.selection != 0 && !has_pools;
  Selected selection;
  uvec2 range;
  uint before_pools = 0xFFFFFFFFu;  // rows that come before them
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
  float highest = STAGE.sinks == 0 ? -kInfinity : Floats(STAGE.sinks).at[head];
  float sum = STAGE.sinks == 0 ? 0 : 1;
  for (uint first = range.x - range.x % kThreads; first < range.y; first += kThreads) {
    const uint i = first + thread;
    float score = -kInfinity;
    float value_scale = 0;
    if (i >= range.x && i < range.y) {
      const uint position = selects ? selected_position(selection, i) : i;
      CacheRow row;
      if (i < before_pools) row = cache_row(step, cache, place.sequence, kv_head, position);
      else row = pool_row(step, place.sequence, token, i - before_pools);
      score = score_of(cache_key(cache, row), head, own, position);
      Words value = cache_value(cache, row);  // those of pools lie in the same way
      value_rows[thread] = Address(value);
      value_scale = cache_scale(value, cache.latent != 0 ? cache.key_dim : cache.value_dim);
    }
    const float top = max(highest, group_max(score));
    if (top == -kInfinity) continue;
    const float kept = highest == -kInfinity ? 0 : exp_of(highest - top);
    const float weight = score == -kInfinity ? 0 : exp_of(score - top);
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
    Floats(STAGE.y).at[(token * STAGE.heads + head) * cache.value_dim + d] = rotated[d] / sum;
  }
}
