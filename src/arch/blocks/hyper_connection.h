// Hyper-connections: a decoder of several residual streams, mixed around each block.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Hyper-connections (Zhu et al. 2024, arXiv 2409.19606): a block reads a weighted sum of residual
/// streams, and its result is added to each stream with a factor. Independent connections leave the
/// streams apart; manifold-constrained ones (mHC, Xie et al. 2025, arXiv 2512.24880) also mix the
/// streams around each block. A part of ModelSpec::specs.
struct HyperConnectionSpec {
  uint32_t streams = 0;
  float epsilon = 0.0f;    ///< added to shares, and to factors of the independent kind
  float magnitude = 1.0f;  ///< upper bound of factors
  /// Sinkhorn iterations on the mixing matrix; 0 means that streams are not mixed.
  uint32_t iterations = 0;
  bool mean = false;  ///< the output norm reads the mean of the streams instead of a weighted sum
  /// A block reads with the shares found by the block before it; the first block reads the first
  /// stream, and the output norm uses the shares of the last block.
  bool late = false;
  /// Rank of the gates per value (gated_residual.h); 0 means shares of streams.
  uint32_t low_rank = 0;

  /// Columns of all streams.
  [[nodiscard]] uint64_t columns(uint64_t width) const { return streams * width; }
};

/// Builds a decoder like build_decoder's, but with HyperConnectionSpec::streams residual streams per
/// token, concatenated, [T, streams * width]. Each stream starts as the embedding. A block reads
///   sum over j of (sigmoid(a_j) + epsilon) stream_j
/// and its result is added to stream j times a factor. Here a, b and c are linear in the normalised
/// streams, by "hc_attn_fn", "hc_attn_scale" (a number for each of the three) and "hc_attn_base";
/// "hc_ffn_*" for the feed-forward.
///   independent  factor magnitude sigmoid(b_j) + epsilon; streams stay unchanged.
///                "hc_attn_fn" [2 streams, streams * width]
///   mixed        factor magnitude sigmoid(b_j); stream j becomes sum over i of M_ij stream_i, with
///                the matrix M [streams, streams] made from c by Sinkhorn's iterations.
///                "hc_attn_fn" [(2 + streams) streams, streams * width]
/// The output norm reads such a sum, by "output_hc_*", or the mean of the streams. With
/// HyperConnectionSpec::late, a block reads with the shares of the block before it. Tests: the
/// goldens "hy_v4", "glm5next", "glm5-next" and "deepseek41".
Slot build_hyper_decoder(BuildContext& context);

}  // namespace tenon
