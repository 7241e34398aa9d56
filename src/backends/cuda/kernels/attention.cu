// attention: a group per token and query head or, for few tokens, several groups that share the
// positions (Flash-Decoding). A group processes its positions in chunks at multiples of its thread
// count, whatever the step, with a score per thread; then each thread sums the values of its
// columns (softmax by running maxima: Milakov and Gimelshein, arXiv 1805.02867). The last group to
// arrive merges the parts in order.
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_arrival.h"
#include "backends/cuda/kernels/gpu_dialect.h"

namespace tenon::cuda {

struct Attention {
  gpu::AttentionStage stage;
  Constants constants;
  // Arrays in shared memory, values_of_row() or num_threads() elements each.
  float* rotated =
      nullptr;  // the query while scores are computed, then the result, rotated for a 4-bit cache
  float* sums = nullptr;     // of the current part
  float* totals = nullptr;   // of the parts before
  float* factors = nullptr;  // of the chunk: weights times value scales
  Address* value_rows = nullptr;

  TENON_DEVICE uint cache_type() const { return constants.values[0]; }
  TENON_DEVICE uint values_of_row() const { return constants.values[1]; }
#include "backends/gpu/kernels/attention_rows.inl"
#include "backends/gpu/kernels/reduce.inl"
#include "backends/gpu/kernels/rotation.inl"

  // A group's task, equal in all its threads.
  struct Row {
    uint token, head, kv_head;
    TokenPlace place;
    Selected selection;
    uint before_pools;  // rows before the pools
    Pair range;         // of rows
    uint columns;       // columns of the sums
  };
  // Largest score and the sum of weights relative to it.
  struct Softmax {
    float highest, sum;
  };

  TENON_DEVICE Row row_of(Step step, uint token, uint head) {
    Row row{};
    row.token = token;
    row.head = head;
    row.kv_head = head / (stage.heads / stage.cache.kv_heads);
    row.place = Places(step.header.places).at[token];
    row.before_pools = 0xFFFFFFFFu;
    // Rows of a latent 4-bit cache are rotated whole, even if only a part is the value.
    const bool whole = stage.cache.latent != 0 && cache_type() == kCacheQ4;
    row.columns = whole ? stage.cache.key_dim : stage.cache.value_dim;
    if (selects()) {
      row.selection = selected_positions(token, row.kv_head, row.place.position);
      row.range = {0, row.selection.count};
    } else {
      row.range = seen(row.place, Spans(step.header.spans).at[row.place.sequence]);
    }
    if (stage.has_pools != 0) {
      row.before_pools = row.range.y;
      row.range.y += seen_pools(token, row.place.position);
    }
    return row;
  }
  TENON_DEVICE bool selects() const { return stage.selection != 0 && stage.has_pools == 0; }

  // Parts of a row's positions: their number and the positions of part x.
  struct Parts {
    uint first, length, count;
    TENON_DEVICE Pair of(const Row& row, uint number) const {
      const uint begin = first + number * length;
      return {larger(begin, row.range.x), smaller(begin + length, row.range.y)};
    }
  };
  TENON_DEVICE static Parts parts_of(const Row& row) {
    const uint first = row.range.x - row.range.x % gpu::kSplitPositions;
    const uint pieces = (row.range.y - first + gpu::kSplitPositions - 1) / gpu::kSplitPositions;
    const uint of_part = (pieces + gpu::kAttentionSplits - 1) / gpu::kAttentionSplits;
    if (of_part == 0) return {first, 0, 1};
    return {first, of_part * gpu::kSplitPositions, (pieces + of_part - 1) / of_part};
  }

  // Weighted sums of the values of rows [range.x, range.y).
  TENON_DEVICE Softmax attend(Step step, const Row& row, Pair range) {
    const uint thread = thread_number();
    const CacheLayer cache = stage.cache;
    for (uint d = thread; d < row.columns; d += num_threads()) sums[d] = 0;
    Softmax softmax{-infinity(), 0};
    for (uint first = range.x - range.x % num_threads(); first < range.y; first += num_threads()) {
      const uint i = first + thread;
      float score = -infinity();
      float value_scale = 0;
      if (i >= range.x && i < range.y) {
        const uint sequence = row.place.sequence;
        const uint position = selects() ? selected_position(row.selection, i) : i;
        const CacheRow from = i < row.before_pools
                                  ? cache_row(step, cache, sequence, row.kv_head, position)
                                  : pool_row(step, sequence, row.token, i - row.before_pools);
        score = score_of(cache_key(cache, from), row.head, row.place.position, position);
        const Words value = cache_value(cache, from);  // pools share this layout
        value_rows[thread] = reinterpret_cast<Address>(value.at);
        value_scale = cache_scale(value, cache.latent != 0 ? cache.key_dim : cache.value_dim);
      }
      const float top = larger(softmax.highest, group_max(score));
      if (top == -infinity()) continue;
      const float kept = softmax.highest == -infinity() ? 0 : exp_of(softmax.highest - top);
      const float weight = score == -infinity() ? 0 : exp_of(score - top);
      factors[thread] = weight * value_scale;
      softmax = {top, softmax.sum * kept + group_sum(weight)};
      barrier();
      const uint begin = larger(first, range.x) - first;
      const uint end = smaller(first + num_threads(), range.y) - first;
      for (uint d = thread; d < row.columns; d += num_threads()) {
        float total = sums[d] * kept;
        for (uint piece = 0; piece < end; piece += 4) {
          for (uint j = piece; j < piece + 4; ++j) {
            if (j < begin || j >= end) continue;
            total += factors[j] * cache_code(Words(value_rows[j]), d);
          }
        }
        sums[d] = total;
      }
      barrier();
    }
    return softmax;
  }

  // Adds a part to the totals of the parts before.
  TENON_DEVICE void add_part(const Row& row, const float* part, Softmax of_part, Softmax& all) {
    const float top = larger(all.highest, of_part.highest);
    if (top == -infinity()) return;
    const float kept = all.highest == -infinity() ? 0 : exp_of(all.highest - top);
    const float added = of_part.highest == -infinity() ? 0 : exp_of(of_part.highest - top);
    for (uint d = thread_number(); d < row.columns; d += num_threads()) {
      totals[d] = totals[d] * kept + part[d] * added;
    }
    all = {top, all.sum * kept + of_part.sum * added};
  }

  // Merges parts of several groups; returns false if another group merges them.
  TENON_DEVICE bool add_shared_parts(Step step, const Row& row, Parts parts, Softmax& all) {
    const uint own = group_x() % stage.splits;
    const Softmax softmax = attend(step, row, parts.of(row, own));
    const uint number = row.token * stage.heads + row.head;
    const uint stride = 2 + values_of_row();
    float* partials = Floats(stage.partials).at + Address(number) * stage.splits * stride;
    if (thread_number() == 0) {
      partials[own * stride] = softmax.highest;
      partials[own * stride + 1] = softmax.sum;
    }
    for (uint d = thread_number(); d < row.columns; d += num_threads()) {
      partials[own * stride + 2 + d] = sums[d];
    }
    if (!comes_last(stage.arrived + number * sizeof(uint), parts.count)) return false;
    for (uint i = 0; i < parts.count; ++i) {
      const float* part = partials + i * stride;
      add_part(row, part + 2, {part[0], part[1]}, all);
    }
    return true;
  }

  TENON_DEVICE void run() {
    value_rows = dynamic_shared<Address>();
    factors = reinterpret_cast<float*>(value_rows + num_threads());
    rotated = factors + num_threads();
    sums = rotated + values_of_row();
    totals = sums + values_of_row();
    const uint thread = thread_number();
    Step step = Step(stage.step);
    const uint head = stage.splits == 0 ? group_x() : group_x() / stage.splits;
    const Row row = row_of(step, group_y(), head);
    const Parts parts = parts_of(row);
    if (stage.splits > 0 && group_x() % stage.splits >= parts.count) return;

    const uint number = row.token * stage.heads + row.head;
    for (uint d = thread; d < values_of_row(); d += num_threads()) {
      const uint at = number * stage.cache.key_dim + d;
      rotated[d] = d < stage.cache.key_dim ? Floats(stage.query).at[at] : 0;
      totals[d] = 0;
    }
    barrier();
    if (cache_type() == kCacheQ4) rotate(stage.cache.key_dim);

    Softmax all{-infinity(), 0};
    if (stage.sinks != 0) all = {Floats(stage.sinks).at[row.head], 1};
    if (stage.splits > 0) {
      if (!add_shared_parts(step, row, parts, all)) return;
    } else {
      for (uint i = 0; i < parts.count; ++i) {
        const Softmax softmax = attend(step, row, parts.of(row, i));
        add_part(row, sums, softmax, all);
      }
    }

    barrier();
    for (uint d = thread; d < row.columns; d += num_threads()) rotated[d] = totals[d];
    barrier();
    if (cache_type() == kCacheQ4) rotate(row.columns);
    for (uint d = thread; d < stage.cache.value_dim; d += num_threads()) {
      Floats(stage.y).at[number * stage.cache.value_dim + d] = rotated[d] / all.sum;
    }
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(attention, true, tenon::cuda::Attention)
