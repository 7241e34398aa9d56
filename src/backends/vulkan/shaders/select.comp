// select and select_blocks: a workgroup for each token and, of blocks, for each head.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "common.glsl"

layout(constant_id = 1) const uint kCacheType = 0;

layout(buffer_reference, scalar) readonly buffer Parameters { SelectStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

#include "cache.glsl"

// The token and, of blocks, the head of this workgroup.
uint token;
uint index_head;
TokenPlace place;

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

uint key_of_score(float score);

uint key_of(uint number) {
  if (STAGE.block == 0) {
    float score = 0;
    for (uint h = 0; h < STAGE.heads; ++h) {
      const float p = product(h, number);
      score += Floats(STAGE.weights).at[token * STAGE.heads + h] * (p <= 0 ? 0 : p);
    }
    return key_of_score(score);
  }
  const uint blocks = place.position / STAGE.block + 1;
  if (number + STAGE.local >= blocks) return key_of_score(kInfinity);
  float largest = -kInfinity;
  const uint end = min((number + 1) * STAGE.block, place.position + 1);
  for (uint i = number * STAGE.block; i < end; ++i) {
    const float p = product(index_head, i);
    if (!is_nan(p)) largest = max(largest, p);
  }
  return key_of_score(largest);
}

#include "choose.glsl"

void main() {
  token = gl_WorkGroupID.y;
  index_head = gl_WorkGroupID.x;
  place = Places(Step(STAGE.step).header.places).at[token];
  const uint own = place.position;
  const uint items = STAGE.block == 0 ? (own + 1) / STAGE.cache.stride : own / STAGE.block + 1;
  const uint parts = STAGE.block == 0 ? 1 : STAGE.heads;
  choose(items, STAGE.count, Ints(STAGE.y), (token * parts + index_head) * STAGE.count);
}
