// select, select_candidates and select_within: a group for each token; select_blocks: one for each token and head.
// Items are rows of an index, or blocks of such rows.
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
  uint rows = 0;  // of the index that the token sees

  TENON_DEVICE uint cache_type() const { return constants.values[0]; }
  TENON_DEVICE uint operation() const { return constants.values[1]; }

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

  // How the index scores row i.
  TENON_DEVICE float score_of(uint row) const {
    float score = 0;
    for (uint h = 0; h < stage.heads; ++h) {
      const float p = product(h, row);
      score += Floats(stage.weights).at[token * stage.heads + h] * (p <= 0 ? 0 : p);
    }
    return score;
  }

  // The largest score that the token sees of block `number`.
  TENON_DEVICE float score_of_block(uint number) const {
    float largest = -infinity();
    const uint end = smaller((number + 1) * stage.block, rows);
    for (uint i = number * stage.block; i < end; ++i) {
      const float score = operation() == gpu::kOpSelectBlocks ? product(index_head, i) : score_of(i);
      if (!is_nan(score)) largest = larger(largest, score);
    }
    return largest;
  }

  TENON_DEVICE int candidate(uint item) const {
    return Ints(stage.candidates).at[token * stage.candidate_columns + item];
  }

  // The number of the item: its row or its block.
  TENON_DEVICE uint number(uint item) const {
    if (operation() != gpu::kOpSelectWithin) return item;
    return uint(candidate(item / stage.block)) * stage.block + item % stage.block;
  }

  // The key of the item.
  TENON_DEVICE uint operator()(uint item) const {
    if (operation() == gpu::kOpSelect || operation() == gpu::kOpSelectWithin) {
      return key_of_score(score_of(number(item)));
    }
    const uint certain = operation() == gpu::kOpSelectBlocks ? stage.local : 1;
    const bool is_certain = item + certain >= (rows + stage.block - 1) / stage.block;
    return key_of_score(is_certain ? infinity() : score_of_block(item));
  }

  // Rows in the blocks that are candidates: all of these but the last are whole.
  TENON_DEVICE uint candidate_rows() const {
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
    if (operation() == gpu::kOpSelectWithin) {
      items = candidate_rows();
    } else if (operation() != gpu::kOpSelect) {
      items = (rows + stage.block - 1) / stage.block;
    }
    const uint parts = operation() == gpu::kOpSelectBlocks ? stage.heads : 1;
    choose(*this, items, stage.count, Ints(stage.y), (token * parts + index_head) * stage.count);
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(select, true, tenon::cuda::Select)
