// select and select_blocks: a group for each token and, of blocks, for each head.
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_cache.h"
#include "backends/cuda/kernels/device_choose.h"

namespace tenon::cuda {

struct Select {
  gpu::SelectStage stage;
  Constants constants;

  // The token and, of blocks, the head of this group.
  uint token = 0;
  uint index_head = 0;
  TokenPlace place{};

  TENON_DEVICE uint cache_type() const { return constants.values[0]; }

  // q_j.k_i for head j and row i of the index.
  TENON_DEVICE float product(uint head, uint number) const {
    const CacheLayer cache = stage.cache;
    Words key = cache_key(cache, cache_row(Step(stage.step), cache, place.sequence, 0, number));
    const uint first = (token * stage.heads + head) * cache.key_dim;
    float sum = 0;
    for (uint d = 0; d < cache.key_dim; d += 8) {
      float codes[8];
      cache_codes(cache_type(), key, d, cache.key_dim, codes);
      for (uint i = 0; i < 8; ++i) {
        if (d + i < cache.key_dim) sum += Floats(stage.query).at[first + d + i] * codes[i];
      }
    }
    return sum * cache_scale(cache_type(), key, cache.key_dim);
  }

  // The key of item `number`.
  TENON_DEVICE uint operator()(uint number) const {
    if (stage.block == 0) {
      float score = 0;
      for (uint h = 0; h < stage.heads; ++h) {
        const float p = product(h, number);
        score += Floats(stage.weights).at[token * stage.heads + h] * (p <= 0 ? 0 : p);
      }
      return key_of_score(score);
    }
    const uint blocks = place.position / stage.block + 1;
    if (number + stage.local >= blocks) return key_of_score(infinity());
    float largest = -infinity();
    const uint end = smaller((number + 1) * stage.block, place.position + 1);
    for (uint i = number * stage.block; i < end; ++i) {
      const float p = product(index_head, i);
      if (!is_nan(p)) largest = larger(largest, p);
    }
    return key_of_score(largest);
  }

  TENON_DEVICE void run() {
    token = group_y();
    index_head = group_x();
    place = Places(Step(stage.step).header.places).at[token];
    const uint own = place.position;
    const uint items = stage.block == 0 ? (own + 1) / stage.cache.stride : own / stage.block + 1;
    const uint parts = stage.block == 0 ? 1 : stage.heads;
    choose(*this, items, stage.count, Ints(stage.y), (token * parts + index_head) * stage.count);
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(select, true, tenon::cuda::Select)
