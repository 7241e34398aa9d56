// compress: a group for each token at the end of a pool; a thread for each of its columns, except that
// rows of a 4-bit cache are rotated back by all.
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_cache.h"
#include "backends/cuda/kernels/device_math.h"
#include "backends/cuda/kernels/device_rotate.h"

namespace tenon::cuda {

struct Compress {
  gpu::CompressStage stage;
  Constants constants;
  // In shared memory, values_of_row() of each.
  float* rotated = nullptr;
  float* values = nullptr;
  float* highest = nullptr;
  float* weights = nullptr;
  float* results = nullptr;

  TENON_DEVICE uint cache_type() const { return constants.values[0]; }
  TENON_DEVICE uint values_of_row() const { return constants.values[1]; }

  // Into `rotated`.
  TENON_DEVICE void load(Words row, uint n) {
    barrier();
    const float scale = cache_scale(cache_type(), row, n);
    for (uint d = thread_number(); d < n; d += num_threads())
      rotated[d] = scale * cache_code(cache_type(), row, d);
    if (cache_type() == kCacheQ4) rotate(rotated, n);
    barrier();
  }

  TENON_DEVICE void run() {
    rotated = dynamic_shared<float>();
    values = rotated + values_of_row();
    highest = values + values_of_row();
    weights = highest + values_of_row();
    results = weights + values_of_row();
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
    // Of pools that overlap the positions of the one before come first, if there is one.
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
};

}  // namespace tenon::cuda

TENON_ENTRY(compress, true, tenon::cuda::Compress)
