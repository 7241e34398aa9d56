// select, select_candidates and select_within: a workgroup for each token; select_blocks: one for each token and
// head. Items are rows of an index, or blocks of such rows.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "common.glsl"

layout(constant_id = 1) const uint kCacheType = 0;
layout(constant_id = 2) const uint kOperation = 33;  // TENON_OP_*

layout(buffer_reference, scalar) readonly buffer Parameters { SelectStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

#include "cache.glsl"

// The token and, of blocks, the head of this workgroup.
uint token;
uint index_head;
TokenPlace place;
uint rows;  // of the index that the token sees

// q_j.k_i for head j and row i of the index.
float product(uint head, uint number) {
  const CacheLayer cache = STAGE.cache;
  Words key = cache_key(cache, cache_row(Step(STAGE.step), cache, place.sequence, 0, number));
  const uint first = (token * STAGE.heads + head) * cache.key_dim;
  float sum = 0;
  for (uint d = 0; d < cache.key_dim; d += 8) {
    float codes[8];
    cache_codes(key, d, cache.key_dim, codes);
    for (uint i = 0; i < 8; ++i) {
      if (d + i < cache.key_dim) sum += Floats(STAGE.query).at[first + d + i] * codes[i];
    }
  }
  return sum * cache_scale(key, cache.key_dim);
}

// How the index scores row i.
float score_of(uint row) {
  float score = 0;
  for (uint h = 0; h < STAGE.heads; ++h) {
    const float p = product(h, row);
    score += Floats(STAGE.weights).at[token * STAGE.heads + h] * (p <= 0 ? 0 : p);
  }
  return score;
}

// The largest score that the token sees of block `number`.
float score_of_block(uint number) {
  float largest = -kInfinity;
  const uint end = min((number + 1) * STAGE.block, rows);
  for (uint i = number * STAGE.block; i < end; ++i) {
    float score;
    if (kOperation == kOpSelectBlocks) score = product(index_head, i);
    else score = score_of(i);
    if (!is_nan(score)) largest = max(largest, score);
  }
  return largest;
}

int candidate(uint item) {
  return Ints(STAGE.candidates).at[token * STAGE.candidate_columns + item];
}

// The number of the item: its row or its block.
uint number_of(uint item) {
  if (kOperation != kOpSelectWithin) return item;
  return uint(candidate(item / STAGE.block)) * STAGE.block + item % STAGE.block;
}

uint key_of_score(float score);

// The key of the item.
uint key_of(uint item) {
  if (kOperation == kOpSelect || kOperation == kOpSelectWithin) {
    return key_of_score(score_of(number_of(item)));
  }
  const uint certain = kOperation == kOpSelectBlocks ? STAGE.local : 1;
  if (item + certain >= (rows + STAGE.block - 1) / STAGE.block) return key_of_score(kInfinity);
  return key_of_score(score_of_block(item));
}

#include "choose.glsl"

// Rows in the blocks that are candidates: all of these but the last are whole.
uint candidate_rows() {
  uint low = 0;  // numbers ascend, and -1 follows them
  uint high = STAGE.candidate_columns;
  while (low < high) {
    const uint middle = (low + high) / 2;
    if (candidate(middle) >= 0) low = middle + 1;
    else high = middle;
  }
  if (low == 0) return 0;
  return (low - 1) * STAGE.block +
         min(STAGE.block, rows - uint(candidate(low - 1)) * STAGE.block);
}

void main() {
  token = gl_WorkGroupID.y;
  index_head = gl_WorkGroupID.x;
  place = Places(Step(STAGE.step).header.places).at[token];
  rows = (place.position + 1) / STAGE.cache.stride;
  uint items = rows;
  if (kOperation == kOpSelectWithin) items = candidate_rows();
  else if (kOperation != kOpSelect) items = (rows + STAGE.block - 1) / STAGE.block;
  const uint parts = kOperation == kOpSelectBlocks ? STAGE.heads : 1;
  choose(items, STAGE.count, Ints(STAGE.y), (token * parts + index_head) * STAGE.count);
}
