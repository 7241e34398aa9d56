// Indices of sparse attention: small heads that select the positions visible to a token.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Items that an index selects.
enum class IndexKind {
  Positions,  ///< single positions, shared by all heads; for latent attention
  Blocks,     ///< blocks of neighbours, per KV head
  Pools,      ///< neighbours with pooled keys, shared by all heads; for latent attention
  Means,      ///< neighbours by the means of their keys, shared by all heads
};

/// Sparse attention: an index of few small heads, whose keys have cache rows of their own, scores
/// all positions; attention sees the best. A part of AttentionSpec::specs.
struct IndexSpec {
  IndexKind kind = IndexKind::Positions;
  uint32_t count = 0;     ///< most positions, blocks or pools selected
  uint32_t heads = 0;     ///< query heads of the index
  uint32_t key_dim = 0;   ///< values per head, and of the key shared by all heads
  uint32_t together = 1;  ///< positions per block or pool
  uint32_t local = 0;     ///< last blocks, which are always selected
  /// Rotates as many values as attention does: the first of a head, or the last.
  uint32_t rope_style = TENON_ROPE_ADJACENT;
  bool rotates_last = false;
  float epsilon = 1e-6f;  ///< norm of the key, and of the query, if any
  /// The layer reuses the selection of the nearest earlier layer with an index.
  bool shared = false;

  /// f32 values of state per sequence: the last keys of a block.
  [[nodiscard]] uint64_t state_values() const {
    return kind == IndexKind::Means ? uint64_t{together - 1} * key_dim : 0;
  }
  [[nodiscard]] bool refers() const { return shared; }
  void add_caches(BuildContext& context, uint32_t layer) const;
};

/// Positions visible to a token, for AttentionOptions.
struct Selection {
  Slot slot = kNoSlot;  ///< kNoSlot means all positions that the mask allows
  uint32_t parts = 1;   ///< 1, or one per KV head
  uint32_t block = 1;   ///< positions per selected number
  bool rest = false;    ///< also the positions after the last whole block

  void put_into(AttentionOptions& options) const;
};

/// IndexKind::Positions (DeepSeek-AI 2025, arXiv 2512.02556): "indexer.attn_q_b" of the source of
/// latent queries, one key ("indexer.attn_k", "indexer.k_norm") for all heads, and "indexer.proj",
/// the weight of each head. Layers that share a selection get that of the layer before them.
/// IndexKind::Pools (Zhipu 2026, as in models/glm5_next of `transformers`): the keys of several
/// neighbours are pooled into one with learned weights, gates linear in x and a bias per place in
/// the pool. Their tensors are "indexer_compressor_gate" and "indexer_compressor_ape", or
/// "indexer.kpool_gate" and "indexer.kpool_ape". A token sees the positions of the best pools, and
/// those after the last whole pool.
///   x [T, width], source [T, query_rank]
Selection select_positions(BuildContext& context, uint32_t layer, Slot x, Slot source);

/// IndexKind::Blocks (MiniMax 2026, as in models/minimax_m3_vl of `transformers`): a head per KV
/// head ("indexer.q_proj", "indexer.q_norm") and one key for all ("indexer.k_proj",
/// "indexer.k_norm"). The score of a block of positions is its best position's.
///   x [T, width]
Selection select_blocks(BuildContext& context, uint32_t layer, Slot x);

/// IndexKind::Means (Qwen Team 2026, as in models/qwen4_exp of `transformers`): a few heads
/// ("indexer.q_proj", "indexer.q_norm") and one key per block of positions. The key is the mean of
/// "indexer.k_proj" x over the block, normalised ("indexer.k_norm") and rotated like the block's
/// first position. Positions after the last whole block are visible, too. The last keys are a state
/// of the layer, at its start.
///   x [T, width]
Selection select_by_means(BuildContext& context, uint32_t layer, Slot x);

/// Group of the cache of positions that are not pooled yet: a value and a gate per column, in f32.
/// Overlapping pools also keep those of the next pool.
CacheGroup unpooled_group(const BuildContext& context, uint32_t columns, uint32_t positions,
                          bool overlap);

}  // namespace tenon
