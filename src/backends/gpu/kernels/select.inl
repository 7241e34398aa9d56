// select, select_candidates and select_within: a group per token. select_blocks: a group per token
// and head. Items are rows of an index, or blocks of such rows.
#include "backends/gpu/kernels/cache.inl"

// Token of this group, and its head for select_blocks.
TENON_VARIABLE(uint, token);
TENON_VARIABLE(uint, index_head);
TENON_VARIABLE(TokenPlace, place);
TENON_VARIABLE(uint, rows);  // of the index that the token sees

// Product of a head's query with a row of the index.
TENON_DEVICE float product(uint head, uint number) {
  const CacheLayer cache = stage.cache;
  Words key = cache_key(cache, cache_row(Step(stage.step), cache, place.sequence, 0, number));
  const uint first = (token * stage.heads + head) * cache.key_dim;
  float sum = 0;
  for (uint d = 0; d < cache.key_dim; d += 8) {
    float codes[8];
    cache_codes(key, d, cache.key_dim, codes);
    for (uint i = 0; i < 8; ++i) {
      if (d + i < cache.key_dim) sum += Floats(stage.query).at[first + d + i] * codes[i];
    }
  }
  return sum * cache_scale(key, cache.key_dim);
}

// Score of a row by all heads.
TENON_DEVICE float score_of(uint row) {
  float score = 0;
  for (uint h = 0; h < stage.heads; ++h) {
    const float p = product(h, row);
    score += Floats(stage.weights).at[token * stage.heads + h] * (p <= 0 ? 0 : p);
  }
  return score;
}

// Largest score among the rows of a block that the token sees.
TENON_DEVICE float score_of_block(uint number) {
  float largest = -infinity();
  const uint end = smaller((number + 1) * stage.block, rows);
  for (uint i = number * stage.block; i < end; ++i) {
    float score;
    if (operation() == kOpSelectBlocks) {
      score = product(index_head, i);
    } else {
      score = score_of(i);
    }
    if (!is_nan(score)) largest = larger(largest, score);
  }
  return largest;
}

TENON_DEVICE int candidate(uint item) {
  return Ints(stage.candidates).at[token * stage.candidate_columns + item];
}

// Number of an item: its row or its block.
TENON_DEVICE uint number_of(uint item) {
  if (operation() != kOpSelectWithin) return item;
  return uint(candidate(item / stage.block)) * stage.block + item % stage.block;
}

// Key of an item.
TENON_DEVICE uint key_of(uint item) {
  if (operation() == kOpSelect || operation() == kOpSelectWithin) {
    return order_key(score_of(number_of(item)));
  }
  const uint certain = operation() == kOpSelectBlocks ? stage.local : 1;
  if (item + certain >= (rows + stage.block - 1) / stage.block) return order_key(infinity());
  return order_key(score_of_block(item));
}

#include "backends/gpu/kernels/choose.inl"

// Number of rows in the candidate blocks, of which all but the last are whole.
TENON_DEVICE uint candidate_rows() {
  uint low = 0;  // numbers ascend, and -1 follows them
  uint high = stage.candidate_columns;
  while (low < high) {
    const uint middle = (low + high) / 2;
    if (candidate(middle) >= 0)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return 0;
  return (low - 1) * stage.block +
         smaller(stage.block, rows - uint(candidate(low - 1)) * stage.block);
}

TENON_DEVICE void run() {
  token = group_y();
  index_head = group_x();
  place = Places(Step(stage.step).header.places).at[token];
  rows = (place.position + 1) / stage.cache.stride;
  uint items = rows;
  if (operation() == kOpSelectWithin) {
    items = candidate_rows();
  } else if (operation() != kOpSelect) {
    items = (rows + stage.block - 1) / stage.block;
  }
  const uint parts = operation() == kOpSelectBlocks ? stage.heads : 1;
  choose(items, stage.count, Ints(stage.y), (token * parts + index_head) * stage.count);
}
