// Cuts the attention of a step into work: tiles of tokens, and chunks of a tile's positions if
// tiles alone would leave threads idle (split-KV, Flash-Decoding). Decides which thread computes
// what; never changes results.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/kernels/kernels.h"
#include "tenon/backend.h"

namespace tenon::cpu {

/// Common properties of the attention operations that share a plan.
struct AttentionShape {
  uint32_t group;
  uint32_t kv_heads;
  uint32_t heads;  ///< query heads per KV head
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
  /// Most tokens per tile.
  [[nodiscard]] uint32_t max_tile_tokens() const;
};

/// Query heads per work item of sparse attention, which gathers rows: all heads of one KV head. A
/// latent cache has a single KV head, so items gather rows repeatedly, each for enough heads to
/// amortise the copies. Odd head sizes use all heads, because quantisation needs whole blocks of
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

/// Query heads per work item of an attention_pools, which also gathers rows.
constexpr uint32_t kCompressedHeads = 16;
constexpr uint32_t compressed_head_chunks(uint32_t heads) {
  return (heads + kCompressedHeads - 1) / kCompressedHeads;
}

/// Consecutive tokens of a sequence: the columns of a kernel call.
struct AttentionTile {
  uint32_t first_token, num_tokens;
  uint32_t first_span, end_span;
  uint32_t positions;     ///< positions of the sequence in the group
  uint32_t num_chunks;    ///< 1: the kernel writes the result itself
  uint32_t split = 0;     ///< index among the tiles with several chunks
  uint64_t partials = 0;  ///< offset of its partials, in floats
};
/// Work item per KV head: some spans of a tile.
struct AttentionChunk {
  uint32_t tile;
  uint32_t first_span, end_span;
};

class AttentionPlan {
 public:
  /// Reserves memory for steps of max_tokens tokens, so that build() rarely allocates.
  AttentionPlan(const AttentionShape& shape, uint32_t max_tokens, uint32_t num_threads);

  /// Plans a step. positions [T] of its tokens in their sequences. May throw std::bad_alloc.
  void build(const tenon_step& step, const std::vector<uint32_t>& positions);

  [[nodiscard]] const AttentionShape& shape() const { return shape_; }
  [[nodiscard]] uint32_t num_items() const {
    return static_cast<uint32_t>(chunks_.size()) * shape_.kv_heads;
  }
  /// Orders chunks by head: a thread that takes consecutive items stays with a head's part of the
  /// cache and with its result columns, whose rows are interleaved (QuantRows).
  [[nodiscard]] const AttentionChunk& chunk(uint32_t item) const {
    return chunks_[item % chunks_.size()];
  }
  [[nodiscard]] uint32_t kv_head(uint32_t item) const {
    return item / static_cast<uint32_t>(chunks_.size());
  }
  [[nodiscard]] const AttentionTile& tile(const AttentionChunk& chunk) const {
    return tiles_[chunk.tile];
  }
  /// Floats between the partials of neighbouring KV heads.
  [[nodiscard]] uint64_t partial_floats(const AttentionTile& tile) const;
  /// Floats of all partials in the step.
  [[nodiscard]] uint64_t total_partial_floats() const { return total_partial_floats_; }
  [[nodiscard]] uint64_t partial_floats_of_context(uint64_t positions) const;

  /// Counts a finished chunk of a KV head; returns true for the last chunk of its tile.
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
