// Hyper-connections: a decoder of several residual streams, mixed around each block.
#pragma once

#include "arch/build_context.h"

namespace tenon {

/// Builds a decoder like build_decoder's, but with ModelSpec::hyper_connection.streams residual
/// streams per token, concatenated, [T, streams * width]. Each stream starts as the embedding. A
/// block reads
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
