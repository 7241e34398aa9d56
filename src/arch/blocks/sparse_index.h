// Indices of sparse attention: small heads that choose which positions a token looks at.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// What a token looks at, for AttentionOptions.
struct Selection {
  Slot slot = kNoSlot;  ///< kNoSlot: all positions that it sees
  uint32_t parts = 1;   ///< 1, or one for each KV head
  uint32_t block = 1;   ///< positions that a number stands for
  bool rest = false;    ///< and those after the last whole block

  void put_into(AttentionOptions& options) const;
};

/// IndexKind::Positions (DeepSeek-AI 2025, arXiv 2512.02556): "indexer.attn_q_b" of what latent
/// queries are made of, one key ("indexer.attn_k", "indexer.k_norm") for all heads, and "indexer.proj",
/// the weight of each head. Layers that share a selection get that of the layer before them.
/// IndexKind::Pools (Zhipu 2026, as `transformers` has it in models/glm5_next): the same, but that
/// the keys of several neighbours are pooled into one with learnt weights, gates linear in x and a
/// bias for each place in the pool. Files call their tensors "indexer_compressor_gate" and
/// "indexer_compressor_ape", or "indexer.kpool_gate" and "indexer.kpool_ape". A token looks at the
/// positions of the best pools, and at those after the last whole one.
///   x [T, width], source [T, query_rank]
Selection select_positions(BuildContext& context, uint32_t layer, Slot x, Slot source);

/// IndexKind::Blocks (MiniMax 2026, as `transformers` has it in models/minimax_m3_vl): a head for each
/// KV head ("indexer.q_proj", "indexer.q_norm"), one key for all ("indexer.k_proj",
/// "indexer.k_norm"), and blocks of positions that count as their best position does.
///   x [T, width]
Selection select_blocks(BuildContext& context, uint32_t layer, Slot x);

/// IndexKind::Means (Qwen Team 2026, as `transformers` has it in models/qwen4_exp): a few heads
/// ("indexer.q_proj", "indexer.q_norm") and one key for a block of positions, the mean of
/// "indexer.k_proj" x over them, normalised ("indexer.k_norm") and rotated as its first position.
/// Positions after the last whole block are looked at, too. The last keys are a state of the layer,
/// from its first value on.
///   x [T, width]
Selection select_by_means(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
