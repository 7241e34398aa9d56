// kv_write: a group per key and per value of a token and KV head, as words of the cache's type. The
// rest of the last word is zero.
#include "backends/gpu/kernels/cache.inl"
#include "backends/gpu/kernels/reduce.inl"
#include "backends/gpu/kernels/rotation.inl"

// Scale of rotated[0 .. n) as f16: the largest magnitude gets level `top`. NaN if a value is not
// finite.
TENON_DEVICE uint scale_of(uint n, float top) {
  float largest = 0;
  float broken = 0;
  for (uint i = thread_number(); i < n; i += num_threads()) {
    largest = larger(largest, absolute(rotated[i]));
    const bool is_finite = (float_to_bits(rotated[i]) & 0x7FFFFFFFu) < 0x7F800000u;
    if (!is_finite) broken = 1;
  }
  largest = group_max(largest);
  broken = group_max(broken);
  return broken > 0 ? 0x7E00u : float_to_half(largest / top);
}

TENON_DEVICE uint code_of(uint i, float inverse) {
  const float x = rotated[i];
  switch (cache_type()) {
    case kCacheF32:
      return float_to_bits(x);
    case kCacheF16:
      return float_to_half(x);
    case kCacheInt8:
      return uint(int(limited(round_even(x * inverse), -127.0f, 127.0f))) & 255u;
    default:
      return uint(int(limited(round_even(x * inverse * 0.5f - 0.5f), -8.0f, 7.0f) + 8));
  }
}

TENON_DEVICE void store(Words to, uint n) {
  const bool coded = cache_type() == kCacheInt8 || cache_type() == kCacheQ4;
  uint scale = 0;
  float inverse = 0;
  if (cache_type() == kCacheQ4) rotate(n);
  barrier();
  if (coded) {
    scale = scale_of(n, cache_type() == kCacheInt8 ? 127.0f : 15.0f);
    const float d = half_to_float(scale);
    inverse = d > 0 && d <= 65504 ? 1 / d : 0;
  }
  const uint per_word = values_of_word();
  const uint words = (n + per_word - 1) / per_word;
  for (uint w = thread_number(); w < words; w += num_threads()) {
    uint word = 0;
    for (uint i = 0; i < per_word && w * per_word + i < n; ++i) {
      word |= code_of(w * per_word + i, inverse) << i * (32 / per_word);
    }
    to.at[w] = word;
  }
  if (coded && thread_number() == 0) to.at[words] = scale;
}

TENON_DEVICE void run() {
  const uint token = group_y();
  Step step = Step(stage.step);
  const TokenPlace place = Places(step.header.places).at[token];
  const CacheLayer cache = stage.cache;
  if (place.position % cache.stride != cache.stride - 1) return;
  const uint kinds = cache.latent != 0 ? 1 : 2;
  const uint kv_head = group_x() / kinds;
  const bool is_key = group_x() % kinds == 0;
  const CacheRow row =
      cache_row(step, cache, place.sequence, kv_head, place.position / cache.stride);
  const uint n = is_key ? cache.key_dim : cache.value_dim;
  Floats from = Floats(is_key ? stage.keys : stage.values);
  for (uint i = thread_number(); i < n; i += num_threads()) {
    rotated[i] = from.at[(token * cache.kv_heads + kv_head) * n + i];
  }
  if (is_key)
    store(cache_key(cache, row), n);
  else
    store(cache_value(cache, row), n);
}
