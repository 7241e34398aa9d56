// Attention of DeepSeek-V4 and V4.1: to the last positions and to pools of positions of the whole text.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Attention whose heads share one row for each position, key and value alike (DeepSeek-AI 2026, as
/// `transformers` has it in models/deepseek_v4). Queries come from a row of low rank ("attn_q_a",
/// "attn_q_a_norm", "attn_q_b") and have a norm without a weight; the rows are "attn_kv" x, normalised
/// ("attn_kv_a_norm"). The last values of both are rotated, and those of what is attended turned back by
/// the token's own position, so that it depends on distances alone. Of each group of heads
/// "attn_output_a" makes a row of low rank, "attn_output_b" the result of all.
///
/// Beside the last positions, layers look at rows of pools (AttentionSpec::pools): "attn_compressor_kv" x
/// weighed by a softmax over the pool of "attn_compressor_gate" x and a bias for each place
/// ("attn_compressor_ape"), normalised ("attn_compressor_norm") and rotated as the first position of
/// the pool. An index with pooled keys of its own ("indexer_compressor_*", "indexer.attn_q_b",
/// "indexer.proj") chooses among them.
///
/// DeepSeek-V4.1 (models/deepseek_v41) has no norm of the query's heads and no biases of places. A layer may
/// look at the rows of an earlier one (PoolSpec::rows_of), and at what an earlier one chose. Keys of the
/// index are linear in a row before it is turned ("indexer.attn_k", "indexer.k_norm"); from one layer on
/// rows are chosen out of candidates (IndexSpec::candidate_blocks). Rows of positions are kept as FP8, those
/// of pools as FP4, and so are queries and keys of the index.
///   x [T, width] -> [., width]
/// Tests: the goldens "deepseek4", "deepseek4_yarn" and "deepseek41".
Slot pooled_attention(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
