// Attention of DeepSeek-V4 and V4.1: to the last positions and to pools of positions of the whole
// text.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Index of few small heads over rows of pools, shared by all heads. Its keys have cache rows of
/// their own.
struct RowIndexSpec {
  uint32_t count = 0;    ///< most rows selected; 0 means no index
  uint32_t heads = 0;    ///< query heads of the index
  uint32_t key_dim = 0;  ///< values per head, and of the key shared by all heads
  bool linear = false;   ///< keys are linear in the rows; else they are pooled like them
  /// The layer reuses the selection of the nearest earlier layer with an index.
  bool shared = false;
  /// Rows are selected from the best `candidate_blocks` blocks of `candidate_block` rows, found by
  /// one layer. This layer and earlier ones select from all rows. 0 means from all.
  uint32_t candidate_blocks = 0;
  uint32_t candidate_block = 0;
  bool finds_candidates = false;
};

/// Heads share one row per position, which is both key and value (DeepSeek-AI 2026, as in
/// models/deepseek_v4 of `transformers`). Queries come from a low-rank row ("attn_q_a",
/// "attn_q_a_norm", "attn_q_b") and have a norm without a weight. Rows are "attn_kv" x, normalised
/// ("attn_kv_a_norm"). The last values of both are rotated. Those of the attended row are rotated
/// back by the token's position, so that the result depends only on distances. "attn_output_a" maps
/// each group of heads to a low-rank row, "attn_output_b" these rows to the result.
/// Layers with pools also attend to rows of them. Such a row is the sum of "attn_compressor_kv" x
/// over the pool, weighted by a softmax over the pool of "attn_compressor_gate" x plus a bias per
/// place ("attn_compressor_ape"). It is normalised ("attn_compressor_norm") and rotated like the
/// pool's first position. An index with pooled keys of its own ("indexer_compressor_*",
/// "indexer.attn_q_b", "indexer.proj") selects pools.
/// DeepSeek-V4.1 (models/deepseek_v41) has no norm of the query's heads and no bias per place. A
/// layer may reuse the rows of an earlier one (PoolSpec::rows_of), and its selection. Keys of the
/// index are linear in a row before its rotation ("indexer.attn_k", "indexer.k_norm"). From one
/// layer on, rows are selected from candidates (RowIndexSpec::candidate_blocks). Rows of positions
/// are rounded to FP8; those of pools, and queries and keys of the index, to FP4.
/// A part of AttentionSpec::specs. Tests: the goldens "deepseek4", "deepseek4_yarn" and
/// "deepseek41".
struct PoolSpec {
  uint32_t query_rank = 0;     ///< size of the queries' low-rank row
  uint32_t output_groups = 1;  ///< groups of heads, each with a matrix to `output_rank` values
  uint32_t output_rank = 0;
  uint32_t stride = 0;     ///< positions per pool; 0 means no pools in the layer
  bool overlap = false;    ///< rows include the pool before
  bool query_norm = true;  ///< normalises the query's heads
  bool place_bias = true;  ///< gates have a bias per place in a pool
  /// Layer whose rows this one reads; that layer makes them, and keys of them for its index. -1
  /// means its own.
  int32_t rows_of = -1;
  RowIndexSpec index;
  bool rounded = false;  ///< rounds rows, and queries and keys of the index, to few bits

  /// True if rows pool several positions, or a single position with a gate.
  [[nodiscard]] bool pools_positions() const { return stride > 1 || (stride == 1 && place_bias); }
  [[nodiscard]] bool refers() const { return rows_of >= 0 || index.shared; }
  ///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
  Slot build(BuildContext& context, uint32_t layer, Slot x) const;
  void add_caches(BuildContext& context, uint32_t layer) const;
};

}  // namespace tenon
