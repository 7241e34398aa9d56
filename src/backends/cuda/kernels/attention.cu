// attention: a group for each token and query head. It goes through the positions in chunks that begin
// at multiples of kThreads, whatever the step, a score for each thread; then each thread adds up the
// values of its columns (softmax by running maxima: Milakov and Gimelshein, arXiv 1805.02867).
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_cache.h"
#include "backends/cuda/kernels/device_math.h"
#include "backends/cuda/kernels/device_reduce.h"
#include "backends/cuda/kernels/device_rotate.h"

namespace tenon::cuda {

struct Attention {
  gpu::AttentionStage stage;
  Constants constants;
  // In shared memory, values_of_row() or num_threads() of each.
  float* rotated =
      nullptr;  // the query while scores are computed; in the end the result, of a 4-bit cache rotated
  float* sums = nullptr;
  float* factors = nullptr;  // of the chunk: weights times scales of values
  Address* value_rows = nullptr;

  TENON_DEVICE uint cache_type() const { return constants.values[0]; }
  TENON_DEVICE uint values_of_row() const { return constants.values[1]; }

  static constexpr uint kCausal = 0;
  static constexpr uint kChunked = 1;
  static constexpr uint kSymmetric = 2;
  static constexpr uint kAlibi = 1;
  static constexpr uint kRelative = 2;

  // Positions [x, y) that the token sees.
  TENON_DEVICE Pair seen(TokenPlace place, SequenceSpan span) {
    const uint own = place.position;
    const uint window = stage.window;
    const uint all = stage.cache.cross != 0 ? span.cross_positions : span.past + span.num_tokens;
    switch (stage.mask) {
      case kCausal:
        return {window > 0 && own >= window ? own - window + 1 : 0, own + 1};
      case kChunked:
        return {own - own % window, own + 1};
      case kSymmetric:
        if (window == 0) return {0, all};
        return {own > window / 2 ? own - window / 2 : 0, smaller(all, own + window / 2 + 1)};
      default:
        return {0, all};
    }
  }

  // What a selection names, as backends/common/selected_positions.h says.
  struct Selected {
    uint first;  // of its part, in the row of numbers
    uint named;  // positions that numbers name
    uint rest;   // the first position after those that numbers can name
    uint count;
  };

  TENON_DEVICE Selected selected_positions(uint token, uint kv_head, uint own) {
    const uint columns = stage.selection_columns / stage.selection_parts;
    const uint block = stage.selected_block;
    Selected s{};
    s.first = token * stage.selection_columns + kv_head % stage.selection_parts * columns;
    const uint after = stage.selected_rest != 0 ? (own + 1) % block : 0;
    s.rest = own + 1 - after;
    Ints numbers = Ints(stage.selection);
    uint low = 0;  // numbers ascend, and -1 follows them
    uint high = columns;
    while (low < high) {
      const uint middle = (low + high) / 2;
      const int number = numbers.at[s.first + middle];
      if (number >= 0 && uint(number) * block < s.rest)
        low = middle + 1;
      else
        high = middle;
    }
    s.named = 0;
    if (low > 0) {
      const uint begin = uint(numbers.at[s.first + low - 1]) * block;
      s.named = (low - 1) * block + smaller(block, s.rest - begin);
    }
    s.count = s.named + after;
    return s;
  }

  TENON_DEVICE uint selected_position(Selected s, uint i) {
    if (i >= s.named) return s.rest + i - s.named;
    const uint block = stage.selected_block;
    return uint(Ints(stage.selection).at[s.first + i / block]) * block + i % block;
  }

  // attention_pools: how many pools the token sees; a selection names the first ones of its row.
  TENON_DEVICE uint seen_pools(uint token, uint own) {
    const uint all = (own + 1) / stage.pools.stride;
    if (stage.selection == 0) return all;
    uint low = 0;  // numbers ascend, and -1 follows them
    uint high = stage.selection_columns;
    while (low < high) {
      const uint middle = (low + high) / 2;
      if (Ints(stage.selection).at[token * stage.selection_columns + middle] >= 0)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  TENON_DEVICE CacheRow pool_row(Step step, uint sequence, uint token, uint i) {
    const bool selects = stage.selection != 0;
    const uint number =
        selects ? uint(Ints(stage.selection).at[token * stage.selection_columns + i]) : i;
    return cache_row(step, stage.pools, sequence, 0, number);
  }

  TENON_DEVICE float bias_of(uint head, uint own, uint position) {
    const uint distance = larger(own, position) - smaller(own, position);
    if (stage.bias_kind == kAlibi) return -Floats(stage.bias).at[head] * float(distance);
    uint bucket = 0;
    if (position <= own || stage.two_sided != 0) {
      for (uint b = 1; b < stage.side_buckets; ++b) {
        if (Words(stage.distances).at[b] <= distance) bucket = b;
      }
    }
    if (position > own && stage.two_sided != 0) bucket += stage.side_buckets;
    return Floats(stage.bias).at[bucket * stage.heads + head];
  }

  TENON_DEVICE float score_of(Words key, uint head, uint own, uint position) {
    const uint key_dim = stage.cache.key_dim;
    float product = 0;
    for (uint d = 0; d < key_dim; d += 8) {
      float codes[8];
      cache_codes(cache_type(), key, d, key_dim, codes);
      for (uint i = 0; i < 8; ++i) product += rotated[d + i] * codes[i];
    }
    float score = product * cache_scale(cache_type(), key, key_dim) * stage.scale;
    if (stage.soft_cap > 0) score = stage.soft_cap * tanh_of(score / stage.soft_cap);
    return stage.bias_kind == 0 ? score : score + bias_of(head, own, position);
  }

  TENON_DEVICE void run() {
    value_rows = dynamic_shared<Address>();
    factors = reinterpret_cast<float*>(value_rows + num_threads());
    rotated = factors + num_threads();
    sums = rotated + values_of_row();
    const uint thread = thread_number();
    const uint token = group_y();
    const uint head = group_x();
    Step step = Step(stage.step);
    const CacheLayer cache = stage.cache;
    const uint kv_head = head / (stage.heads / cache.kv_heads);
    const TokenPlace place = Places(step.header.places).at[token];
    const uint own = place.position;
    // Rows of a latent 4-bit cache are rotated as a whole, also where only a part is the value.
    const bool whole = cache.latent != 0 && cache_type() == kCacheQ4;
    const uint columns = whole ? cache.key_dim : cache.value_dim;

    for (uint d = thread; d < values_of_row(); d += num_threads()) {
      const uint at = (token * stage.heads + head) * cache.key_dim + d;
      rotated[d] = d < cache.key_dim ? Floats(stage.query).at[at] : 0;
    }
    for (uint d = thread; d < columns; d += num_threads()) sums[d] = 0;
    barrier();
    if (cache_type() == kCacheQ4) rotate(rotated, cache.key_dim);

    const bool has_pools = stage.has_pools != 0;
    const bool selects = stage.selection != 0 && !has_pools;
    Selected selection{};
    Pair range{};
    uint before_pools = 0xFFFFFFFFu;  // rows that come before them
    if (selects) {
      selection = selected_positions(token, kv_head, own);
      range = {0, selection.count};
    } else {
      range = seen(place, Spans(step.header.spans).at[place.sequence]);
    }
    if (has_pools) {
      before_pools = range.y;
      range.y += seen_pools(token, own);
    }
    float highest = stage.sinks == 0 ? -infinity() : Floats(stage.sinks).at[head];
    float sum = stage.sinks == 0 ? 0 : 1;
    for (uint first = range.x - range.x % num_threads(); first < range.y; first += num_threads()) {
      const uint i = first + thread;
      float score = -infinity();
      float value_scale = 0;
      if (i >= range.x && i < range.y) {
        const uint position = selects ? selected_position(selection, i) : i;
        const CacheRow row = i < before_pools
                                 ? cache_row(step, cache, place.sequence, kv_head, position)
                                 : pool_row(step, place.sequence, token, i - before_pools);
        score = score_of(cache_key(cache, row), head, own, position);
        const Words value = cache_value(cache, row);  // those of pools lie in the same way
        value_rows[thread] = reinterpret_cast<Address>(value.at);
        value_scale =
            cache_scale(cache_type(), value, cache.latent != 0 ? cache.key_dim : cache.value_dim);
      }
      const float top = larger(highest, group_max(score));
      if (top == -infinity()) continue;
      const float kept = highest == -infinity() ? 0 : exp_of(highest - top);
      const float weight = score == -infinity() ? 0 : exp_of(score - top);
      factors[thread] = weight * value_scale;
      sum = sum * kept + group_sum(weight);
      highest = top;
      barrier();
      const uint begin = larger(first, range.x) - first;
      const uint end = smaller(first + num_threads(), range.y) - first;
      for (uint d = thread; d < columns; d += num_threads()) {
        float total = sums[d] * kept;
        for (uint piece = 0; piece < end; piece += 4) {
          for (uint j = piece; j < piece + 4; ++j) {
            if (j < begin || j >= end) continue;
            total += factors[j] * cache_code(cache_type(), Words(value_rows[j]), d);
          }
        }
        sums[d] = total;
      }
      barrier();
    }

    barrier();
    for (uint d = thread; d < columns; d += num_threads()) rotated[d] = sums[d];
    barrier();
    if (cache_type() == kCacheQ4) rotate(rotated, columns);
    for (uint d = thread; d < cache.value_dim; d += num_threads()) {
      Floats(stage.y).at[(token * stage.heads + head) * cache.value_dim + d] = rotated[d] / sum;
    }
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(attention, true, tenon::cuda::Attention)
