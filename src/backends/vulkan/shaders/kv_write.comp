// kv_write: a workgroup for each key and each value of a token and KV head, as words of the cache's
// type. What is left of the last word is zero.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(constant_id = 1) const uint kCacheType = 0;
layout(constant_id = 2) const uint kColumns = 64;  // at least those of a key or value

layout(buffer_reference, scalar) readonly buffer Parameters { KvWriteStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

shared float rotated[kColumns];
#include "cache.glsl"
#include "rotate.glsl"

// The scale of rotated[0 .. n), whose largest magnitude gets level `top`, as f16; NaN or infinity where
// one of the values is.
uint scale_of(uint n, float top) {
  float largest = 0;
  float broken = 0;
  for (uint i = gl_LocalInvocationID.x; i < n; i += kThreads) {
    largest = max(largest, abs(rotated[i]));
    const bool is_finite = (floatBitsToUint(rotated[i]) & 0x7FFFFFFFu) < 0x7F800000u;
    if (!is_finite) broken = 1;
  }
  largest = group_max(largest);
  broken = group_max(broken);
  return broken > 0 ? 0x7E00u : float_to_half(largest / top);
}

uint code_of(uint i, float inverse) {
  const float x = rotated[i];
  switch (kCacheType) {
    case kCacheF32: return floatBitsToUint(x);
    case kCacheF16: return float_to_half(x);
    case kCacheInt8: return uint(int(clamp(roundEven(x * inverse), -127, 127))) & 255u;
    default: return uint(clamp(roundEven(x * inverse * 0.5 - 0.5), -8, 7) + 8);
  }
}

void store(Words to, uint n) {
  const bool coded = kCacheType == kCacheInt8 || kCacheType == kCacheQ4;
  uint scale = 0;
  float inverse = 0;
  if (kCacheType == kCacheQ4) rotate(n);
  barrier();
  if (coded) {
    scale = scale_of(n, kCacheType == kCacheInt8 ? 127.0 : 15.0);
    const float d = half_to_float(scale);
    inverse = d > 0 && d <= 65504 ? 1 / d : 0;
  }
  const uint per_word = values_of_word();
  const uint words = (n + per_word - 1) / per_word;
  for (uint w = gl_LocalInvocationID.x; w < words; w += kThreads) {
    uint word = 0;
    for (uint i = 0; i < per_word && w * per_word + i < n; ++i) {
      word |= code_of(w * per_word + i, inverse) << i * (32 / per_word);
    }
    to.at[w] = word;
  }
  if (coded && gl_LocalInvocationID.x == 0) to.at[words] = scale;
}

void main() {
  const uint token = gl_WorkGroupID.y;
  Step step = Step(STAGE.step);
  const TokenPlace place = Places(step.header.places).at[token];
  const CacheLayer cache = STAGE.cache;
  if (place.position % cache.stride != cache.stride - 1) return;
  const uint kinds = cache.latent != 0 ? 1 : 2;
  const uint kv_head = gl_WorkGroupID.x / kinds;
  const bool is_key = gl_WorkGroupID.x % kinds == 0;
  const CacheRow row = cache_row(step, cache, place.sequence, kv_head, place.position / cache.stride);
  const uint n = is_key ? cache.key_dim : cache.value_dim;
  Floats from = Floats(is_key ? STAGE.keys : STAGE.values);
  for (uint i = gl_LocalInvocationID.x; i < n; i += kThreads) {
    rotated[i] = from.at[(token * cache.kv_heads + kv_head) * n + i];
  }
  if (is_key) store(cache_key(cache, row), n);
  else store(cache_value(cache, row), n);
}
