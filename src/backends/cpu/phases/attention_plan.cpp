#include "backends/cpu/phases/attention_plan.h"

#include <algorithm>

#include "abi/strided.h"

namespace tenon::cpu {
namespace {

/// Columns per tile: enough to amortise reading a span from memory, few enough that scores, weights
/// and results stay in a second-level cache of 512 KiB.
constexpr uint32_t kTileColumns = 128;
/// Latent rows are several times as wide, and so are the queries and results of a column.
constexpr uint32_t kLatentTileColumns = 64;
/// Work items per thread, enough to balance a stalled core.
constexpr uint32_t kItemsPerThread = 8;
/// Cost of reading a span, in units of a column's cost.
constexpr uint64_t kSpanCost = 10;
/// Tiles with fewer tokens are not cut further: reading their spans would dominate.
constexpr uint32_t kFewTokens = 8;

}  // namespace

uint32_t AttentionShape::max_tile_tokens() const {
  const uint32_t columns = block.latent ? kLatentTileColumns : kTileColumns;
  return std::max(1u, columns / std::max(heads, 2u));
}

AttentionPlan::AttentionPlan(const AttentionShape& shape, uint32_t max_tokens, uint32_t num_threads)
    : shape_(shape), num_threads_(std::max(num_threads, 1u)) {
  // A tile costs more than its share of a thread's items only if tiles are few.
  const uint32_t most_split = num_threads_ * kItemsPerThread;
  tiles_.reserve(max_tokens);
  chunks_.reserve(uint64_t{max_tokens} + 2 * most_split);
  num_finished_size_ = most_split + shape_.kv_heads;
  num_finished_ = std::make_unique<std::atomic<uint32_t>[]>(num_finished_size_);
}

uint64_t AttentionPlan::partial_floats(const AttentionTile& tile) const {
  const uint64_t columns = uint64_t{tile.num_tokens} * shape_.heads;
  return (tile.end_span - tile.first_span) *
         attention_partial_floats(columns, shape_.block.value_stride());
}

uint64_t AttentionPlan::partial_floats_of_context(uint64_t positions) const {
  return positions / kAttentionSpan * shape_.kv_heads *
         attention_partial_floats(shape_.heads, shape_.block.value_stride());
}

uint64_t AttentionPlan::cost(const AttentionTile& tile) const {
  return (tile.end_span - tile.first_span) * (uint64_t{tile.num_tokens} * shape_.heads + kSpanCost);
}

uint32_t AttentionPlan::tile_tokens(const tenon_step& step) const {
  uint32_t tokens = shape_.max_tile_tokens();
  const uint64_t wanted = uint64_t{num_threads_} * kItemsPerThread;
  while (tokens > kFewTokens && uint64_t{step.num_tokens} / tokens * shape_.kv_heads < wanted) {
    tokens = (tokens + 1) / 2;
  }
  return tokens;
}

void AttentionPlan::build(const tenon_step& step, const std::vector<uint32_t>& positions) {
  cut_tiles(step, positions);
  cut_chunks();
}

void AttentionPlan::cut_tiles(const tenon_step& step, const std::vector<uint32_t>& positions) {
  tiles_.clear();
  const uint32_t most = tile_tokens(step);
  const Strided<tenon_step_sequence> sequences = sequences_of(step);
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    const tenon_step_sequence& sequence = sequences[s];
    const uint32_t in_group = shape_.mask == TENON_MASK_CROSS ? sequence.cross_positions
                                                              : sequence.past + sequence.num_tokens;
    const uint32_t end = sequence.first_token + sequence.num_tokens;
    for (uint32_t first = sequence.first_token; first < end; first += most) {
      const uint32_t count = std::min(most, end - first);
      const uint32_t position = positions[first];
      const auto seen = [&](uint32_t own) {
        return seen_positions(shape_.mask, shape_.window, own, in_group);
      };
      tiles_.push_back({first, count, seen(position).first / kAttentionSpan,
                        (seen(position + count - 1).end - 1) / kAttentionSpan + 1, in_group, 1});
    }
  }
}

void AttentionPlan::cut_chunks() {
  chunks_.clear();
  total_partial_floats_ = 0;
  uint64_t total = 0;
  for (const AttentionTile& tile : tiles_) total += cost(tile);
  const uint64_t share = total * shape_.kv_heads / (uint64_t{num_threads_} * kItemsPerThread) + 1;
  uint32_t num_split = 0;
  for (uint32_t i = 0; i < tiles_.size(); ++i) {
    AttentionTile& tile = tiles_[i];
    const uint32_t spans = tile.end_span - tile.first_span;
    if (num_threads_ > 1 && (num_split + 1) * shape_.kv_heads <= num_finished_size_) {
      tile.num_chunks = static_cast<uint32_t>(
          std::min<uint64_t>(spans, std::max<uint64_t>(1, (cost(tile) + share / 2) / share)));
    }
    for (uint32_t p = 0; p < tile.num_chunks; ++p) {
      const auto span_at = [&](uint32_t chunk) {
        return tile.first_span + static_cast<uint32_t>(uint64_t{spans} * chunk / tile.num_chunks);
      };
      chunks_.push_back({i, span_at(p), span_at(p + 1)});
    }
    if (tile.num_chunks == 1) continue;
    tile.split = num_split++;
    tile.partials = total_partial_floats_;
    total_partial_floats_ += partial_floats(tile) * shape_.kv_heads;
  }
  for (uint32_t i = 0; i < num_split * shape_.kv_heads; ++i) {
    num_finished_[i].store(0, std::memory_order_relaxed);
  }
}

bool AttentionPlan::finish_chunk(const AttentionTile& tile, uint32_t kv_head) noexcept {
  if (tile.num_chunks == 1) return true;
  std::atomic<uint32_t>& finished = num_finished_[tile.split * shape_.kv_heads + kv_head];
  if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 < tile.num_chunks) return false;
  finished.store(0, std::memory_order_relaxed);  // for the next layer
  return true;
}

}  // namespace tenon::cpu
