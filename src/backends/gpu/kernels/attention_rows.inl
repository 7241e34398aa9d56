// Rows of the cache that a token attends to, and their scores. Included by attention kernels, which
// hold the query in a shared array `rotated`, rotated if the cache is.
#include "backends/gpu/kernels/cache.inl"

// Positions [x, y) that the token sees.
TENON_DEVICE Pair seen(TokenPlace place, SequenceSpan span) {
  const uint own = place.position;
  const uint window = stage.window;
  const uint all = stage.cache.cross != 0 ? span.cross_positions : span.past + span.num_tokens;
  switch (stage.mask) {
    case kMaskCausal:
      return Pair(window > 0 && own >= window ? own - window + 1 : 0, own + 1);
    case kMaskChunked:
      return Pair(own - own % window, own + 1);
    case kMaskSymmetric:
      if (window == 0) return Pair(0, all);
      return Pair(own > window / 2 ? own - window / 2 : 0, smaller(all, own + window / 2 + 1));
    default:
      return Pair(0, all);
  }
}

// Positions that a selection names (abi/selected_positions.h).
struct Selected {
  uint first;  // of its part, in the row of numbers
  uint named;  // positions that numbers name
  uint rest;   // the first position after those that numbers can name
  uint count;
};

TENON_DEVICE Selected selected_positions(uint token, uint kv_head, uint own) {
  const uint columns = stage.selection_columns / stage.selection_parts;
  const uint block = stage.selected_block;
  Selected s;
  s.first = token * stage.selection_columns + kv_head % stage.selection_parts * columns;
  const uint after = stage.selected_rest != 0 ? (own + 1) % block : 0;
  s.rest = own + 1 - after;
  Ints numbers = Ints(stage.selection);
  uint low = 0;  // numbers ascend, and -1 follows them
  uint high = columns;
  while (low < high) {
    const uint middle = (low + high) / 2;
    const int number = numbers.at[s.first + middle];
    if (number >= 0 && uint(number) * block < s.rest)
      low = middle + 1;
    else
      high = middle;
  }
  s.named = 0;
  if (low > 0) {
    const uint begin = uint(numbers.at[s.first + low - 1]) * block;
    s.named = (low - 1) * block + smaller(block, s.rest - begin);
  }
  s.count = s.named + after;
  return s;
}

TENON_DEVICE uint selected_position(Selected s, uint i) {
  if (i >= s.named) return s.rest + i - s.named;
  const uint block = stage.selected_block;
  return uint(Ints(stage.selection).at[s.first + i / block]) * block + i % block;
}

// Number of pools that the token sees (attention_pools). A selection names the first ones of its
// row.
TENON_DEVICE uint seen_pools(uint token, uint own) {
  const uint all = (own + 1) / stage.pools.stride;
  if (stage.selection == 0) return all;
  uint low = 0;  // numbers ascend, and -1 follows them
  uint high = stage.selection_columns;
  while (low < high) {
    const uint middle = (low + high) / 2;
    if (Ints(stage.selection).at[token * stage.selection_columns + middle] >= 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

TENON_DEVICE CacheRow pool_row(Step step, uint sequence, uint token, uint i) {
  const bool selects = stage.selection != 0;
  const uint number =
      selects ? uint(Ints(stage.selection).at[token * stage.selection_columns + i]) : i;
  return cache_row(step, stage.pools, sequence, 0, number);
}

TENON_DEVICE float bias_of(uint head, uint own, uint position) {
  const uint distance = larger(own, position) - smaller(own, position);
  if (stage.bias_kind == kBiasAlibi) return -Floats(stage.bias).at[head] * float(distance);
  uint bucket = 0;
  if (position <= own || stage.two_sided != 0) {
    for (uint b = 1; b < stage.side_buckets; ++b) {
      if (Words(stage.distances).at[b] <= distance) bucket = b;
    }
  }
  if (position > own && stage.two_sided != 0) bucket += stage.side_buckets;
  return Floats(stage.bias).at[bucket * stage.heads + head];
}

TENON_DEVICE float score_of(Words key, uint head, uint own, uint position) {
  const uint key_dim = stage.cache.key_dim;
  float product = 0;
  for (uint d = 0; d < key_dim; d += 8) {
    float codes[8];
    cache_codes(key, d, key_dim, codes);
    for (uint i = 0; i < 8; ++i) product += rotated[d + i] * codes[i];
  }
  float score = product * cache_scale(key, key_dim) * stage.scale;
  if (stage.soft_cap > 0) score = stage.soft_cap * tanh_of(score / stage.soft_cap);
  return stage.bias_kind == kBiasNone ? score : score + bias_of(head, own, position);
}
