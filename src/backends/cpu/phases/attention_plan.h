// How the attention of one step is cut into work: tiles of tokens, and chunks of a tile's positions
// where tiles alone would not keep all threads busy (split-KV, Flash-Decoding). Says which thread
// computes what, never what comes out.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/kernels/kernels.h"
#include "tenon/backend.h"

namespace tenon::cpu {

/// What the attention operations that share a plan have in common.
struct AttentionShape {
  uint32_t group;
  uint32_t kv_heads;
  uint32_t heads;  ///< query heads of one KV head
  uint32_t window;
  uint32_t mask;  ///< TENON_MASK_*
  CacheBlock block;

  AttentionShape(const tenon_attention_params& params, const tenon_cache_group& kv)
      : group(params.group),
        kv_heads(kv.kv_heads),
        heads(params.heads / kv.kv_heads),
        window(params.window),
        mask(params.mask),
        block(kv) {}
  [[nodiscard]] bool same_work(const AttentionShape& other) const {
    return group == other.group && heads == other.heads && window == other.window &&
           mask == other.mask;
  }
  /// Tokens of a tile, at most.
  [[nodiscard]] uint32_t max_tile_tokens() const;
};

/// Query heads of one work item of an attention of selected positions, whose rows it gathers: those
/// of one KV head. Of a latent cache, which has only one, each item gathers anew for enough heads
/// that this costs little. Where heads are of odd sizes, all: what is quantised is whole blocks of
/// columns.
constexpr uint32_t selected_heads(const tenon_attention_params& params,
                                  const tenon_cache_group& group) {
  constexpr uint32_t kHeads = 16;
  if (group.kind != TENON_CACHE_LATENT) return params.heads / group.kv_heads;
  return group.value_dim % 2 == 0 && params.heads > kHeads ? kHeads : params.heads;
}
constexpr uint32_t selected_head_chunks(const tenon_attention_params& params,
                                        const tenon_cache_group& group) {
  const uint32_t heads = selected_heads(params, group);
  return (params.heads + heads - 1) / heads;
}

/// Query heads of one work item of an attention_pools, which gathers rows as well.
constexpr uint32_t kPoolHeads = 16;
constexpr uint32_t pool_head_chunks(uint32_t heads) {
  return (heads + kPoolHeads - 1) / kPoolHeads;
}

/// Consecutive tokens of one sequence: the columns of one run of the kernel.
struct AttentionTile {
  uint32_t first_token, num_tokens;
  uint32_t first_span, end_span;
  uint32_t positions;     ///< of the sequence in the group
  uint32_t num_chunks;    ///< 1: the kernel gives the result itself
  uint32_t split = 0;     ///< which of the tiles with several chunks this is
  uint64_t partials = 0;  ///< where its partials begin, in floats
};
/// Work item of a KV head: some spans of a tile.
struct AttentionChunk {
  uint32_t tile;
  uint32_t first_span, end_span;
};

class AttentionPlan {
 public:
  /// Room for steps of max_tokens tokens, so that build() rarely allocates.
  AttentionPlan(const AttentionShape& shape, uint32_t max_tokens, uint32_t num_threads);

  /// positions [T] of the step's tokens in their sequences. May throw std::bad_alloc.
  void build(const tenon_step& step, const std::vector<uint32_t>& positions);

  [[nodiscard]] const AttentionShape& shape() const { return shape_; }
  [[nodiscard]] uint32_t num_items() const {
    return static_cast<uint32_t>(chunks_.size()) * shape_.kv_heads;
  }
  /// All chunks of a head, then those of the next: a thread that takes a run of items stays with
  /// the head's part of the cache, and with its columns of the result, in which rows lie between
  /// each other (QuantRows).
  [[nodiscard]] const AttentionChunk& chunk(uint32_t item) const {
    return chunks_[item % chunks_.size()];
  }
  [[nodiscard]] uint32_t kv_head(uint32_t item) const {
    return item / static_cast<uint32_t>(chunks_.size());
  }
  [[nodiscard]] const AttentionTile& tile(const AttentionChunk& chunk) const {
    return tiles_[chunk.tile];
  }
  /// Floats from the partials of one KV head to those of the next.
  [[nodiscard]] uint64_t partial_floats(const AttentionTile& tile) const;
  /// Floats that the partials of the step take, and those of one sequence of `positions`.
  [[nodiscard]] uint64_t total_partial_floats() const { return total_partial_floats_; }
  [[nodiscard]] uint64_t partial_floats_of_context(uint64_t positions) const;

  /// Counts a finished chunk of a KV head; true for the last one of its tile.
  [[nodiscard]] bool finish_chunk(const AttentionTile& tile, uint32_t kv_head) noexcept;

 private:
  [[nodiscard]] uint32_t tile_tokens(const tenon_step& step) const;
  [[nodiscard]] uint64_t cost(const AttentionTile& tile) const;
  void cut_tiles(const tenon_step& step, const std::vector<uint32_t>& positions);
  void cut_chunks();

  AttentionShape shape_;
  uint32_t num_threads_;
  std::vector<AttentionTile> tiles_;
  std::vector<AttentionChunk> chunks_;
  uint64_t total_partial_floats_ = 0;
  uint32_t num_finished_size_ = 0;
  std::unique_ptr<std::atomic<uint32_t>[]> num_finished_;  // [tiles with chunks, kv_heads]
};

}  // namespace tenon::cpu
