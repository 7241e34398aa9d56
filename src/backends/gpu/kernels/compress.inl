// compress: a group per token that ends a pool, a thread per column. Rows of a 4-bit cache are
// rotated back by all threads.
#include "backends/gpu/kernels/cache.inl"
#include "backends/gpu/kernels/rotation.inl"

// Reads a row into `rotated`.
TENON_DEVICE void load(Words row, uint n) {
  barrier();
  const float scale = cache_scale(row, n);
  for (uint d = thread_number(); d < n; d += num_threads()) rotated[d] = scale * cache_code(row, d);
  if (cache_type() == kCacheQ4) rotate(n);
  barrier();
}

TENON_DEVICE void run() {
  const uint thread = thread_number();
  const uint token = group_y();
  Step step = Step(stage.step);
  const CacheLayer cache = stage.cache;
  const TokenPlace place = Places(step.header.places).at[token];
  const uint parts = 1 + stage.overlap;
  const uint row_columns = cache.key_dim;
  const uint n = row_columns / parts;
  const bool ends = place.position % stage.stride == stage.stride - 1;
  for (uint d = thread; d < n; d += num_threads()) {
    highest[d] = -infinity();
    weights[d] = 0;
    results[d] = 0;
  }
  // Overlapping pools: the positions of the pool before, if any, come first.
  const uint pool = place.position + 1 - stage.stride;
  const uint before = ends && pool > 0 ? stage.overlap * stage.stride : 0;
  const uint count = ends ? before + stage.stride : 0;
  for (uint i = 0; i < count; ++i) {
    const uint part = i < before ? 0 : stage.overlap * n;  // the pool's own come second
    const uint bias = i % stage.stride * row_columns + part;
    const CacheRow row = cache_row(step, cache, place.sequence, 0, pool - before + i);
    load(cache_key(cache, row), row_columns);
    for (uint d = thread; d < n; d += num_threads()) values[d] = rotated[part + d];
    load(cache_value(cache, row), row_columns);
    for (uint d = thread; d < n; d += num_threads()) {
      const float logit = rotated[part + d] + Floats(stage.bias).at[bias + d];
      const float top = larger(highest[d], logit);
      const float kept = exp_of(highest[d] - top);
      const float weight = exp_of(logit - top);
      highest[d] = top;
      weights[d] = weights[d] * kept + weight;
      results[d] = results[d] * kept + weight * values[d];
    }
  }
  for (uint d = thread; d < n; d += num_threads()) {
    Floats(stage.y).at[token * n + d] = ends ? results[d] / weights[d] : 0;
  }
}
