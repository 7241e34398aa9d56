// compress: a workgroup for each token at the end of a pool; a thread for each of its columns, except that
// rows of a 4-bit cache are rotated back by all.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "math.glsl"

layout(constant_id = 1) const uint kCacheType = 0;
layout(constant_id = 2) const uint kColumns = 64;  // at least those of a row

layout(buffer_reference, scalar) readonly buffer Parameters { CompressStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

shared float rotated[kColumns];
shared float values[kColumns];
shared float highest[kColumns];
shared float weights[kColumns];
shared float results[kColumns];

#include "cache.glsl"
#include "rotate.glsl"

// Into `rotated`.
void load(Words row, uint n) {
  barrier();
  const float scale = cache_scale(row, n);
  for (uint d = gl_LocalInvocationID.x; d < n; d += kThreads) rotated[d] = scale * cache_code(row, d);
  if (kCacheType == kCacheQ4) rotate(n);
  barrier();
}

void main() {
  const uint thread = gl_LocalInvocationID.x;
  const uint token = gl_WorkGroupID.y;
  Step step = Step(STAGE.step);
  const CacheLayer cache = STAGE.cache;
  const TokenPlace place = Places(step.header.places).at[token];
  const uint parts = 1 + STAGE.overlap;
  const uint row_columns = cache.key_dim;
  const uint n = row_columns / parts;
  const bool ends = place.position % STAGE.stride == STAGE.stride - 1;
  for (uint d = thread; d < n; d += kThreads) {
    highest[d] = -kInfinity;
    weights[d] = 0;
    results[d] = 0;
  }
  // Of pools that overlap the positions of the one before come first, if there is one.
  const uint pool = place.position + 1 - STAGE.stride;
  const uint before = ends && pool > 0 ? STAGE.overlap * STAGE.stride : 0;
  const uint count = ends ? before + STAGE.stride : 0;
  for (uint i = 0; i < count; ++i) {
    const uint part = i < before ? 0 : STAGE.overlap * n;  // the pool's own come second
    const uint bias = i % STAGE.stride * row_columns + part;
    const CacheRow row = cache_row(step, cache, place.sequence, 0, pool - before + i);
    load(cache_key(cache, row), row_columns);
    for (uint d = thread; d < n; d += kThreads) values[d] = rotated[part + d];
    load(cache_value(cache, row), row_columns);
    for (uint d = thread; d < n; d += kThreads) {
      const float logit = rotated[part + d] + Floats(STAGE.bias).at[bias + d];
      const float top = max(highest[d], logit);
      const float kept = exp_of(highest[d] - top);
      const float weight = exp_of(logit - top);
      highest[d] = top;
      weights[d] = weights[d] * kept + weight;
      results[d] = results[d] * kept + weight * values[d];
    }
  }
  for (uint d = thread; d < n; d += kThreads) {
    Floats(STAGE.y).at[token * n + d] = ends ? results[d] / weights[d] : 0;
  }
}
