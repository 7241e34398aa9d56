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
    const uint n = cache.key_dim;
    const bool ends = place.position % stage.stride == stage.stride - 1;
    for (uint d = thread; d < n; d += num_threads()) {
      highest[d] = -infinity();
      weights[d] = 0;
      results[d] = 0;
    }
    for (uint i = 0; ends && i < stage.stride; ++i) {
      const uint position = place.position + 1 - stage.stride + i;
      const CacheRow row = cache_row(step, cache, place.sequence, 0, position);
      load(cache_key(cache, row), n);
      for (uint d = thread; d < n; d += num_threads()) values[d] = rotated[d];
      load(cache_value(cache, row), n);
      for (uint d = thread; d < n; d += num_threads()) {
        const float logit = rotated[d] + Floats(stage.bias).at[i * n + d];
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
