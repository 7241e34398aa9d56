// Attention of DeepSeek-V4 and V4.1: to the last positions and to pools of positions of the whole
// text.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Heads share one row per position, which is both key and value (DeepSeek-AI 2026, as in
/// models/deepseek_v4 of `transformers`). Queries come from a low-rank row ("attn_q_a",
/// "attn_q_a_norm", "attn_q_b") and have a norm without a weight. Rows are "attn_kv" x, normalised
/// ("attn_kv_a_norm"). The last values of both are rotated. Those of the attended row are rotated
/// back by the token's position, so that the result depends only on distances. "attn_output_a" maps
/// each group of heads to a low-rank row, "attn_output_b" these rows to the result.
/// Layers with AttentionSpec::pools also attend to rows of pools. Such a row is the sum of
/// "attn_compressor_kv" x over the pool, weighted by a softmax over the pool of
/// "attn_compressor_gate" x plus a bias per place ("attn_compressor_ape"). It is normalised
/// ("attn_compressor_norm") and rotated like the pool's first position. An index with pooled keys
/// of its own ("indexer_compressor_*", "indexer.attn_q_b", "indexer.proj") selects pools.
/// DeepSeek-V4.1 (models/deepseek_v41) has no norm of the query's heads and no bias per place. A
/// layer may reuse the rows of an earlier one (PoolSpec::rows_of), and its selection. Keys of the
/// index are linear in a row before its rotation ("indexer.attn_k", "indexer.k_norm"). From one
/// layer on, rows are selected from candidates (IndexSpec::candidate_blocks). Rows of positions are
/// rounded to FP8; those of pools, and queries and keys of the index, to FP4.
///   x [T, width] -> [., width]
/// Tests: the goldens "deepseek4", "deepseek4_yarn" and "deepseek41".
Slot pooled_attention(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
