// Hyper-connections: a decoder of several residual streams, mixed around each block.
#pragma once

#include "arch/build_context.h"

namespace tenon {

/// A decoder as build_decoder's, but that a token's row is ModelSpec::hyper_connection.streams
/// residual streams side by side, [T, streams * width], all of them its embedding at first. A block
/// reads
///   sum over j of (sigmoid(a_j) + epsilon) stream_j
/// and what it gives is added to stream j times a factor. Here a, b and c are linear in the
/// normalised streams, by "hc_attn_fn", "hc_attn_scale" (a number for each of them) and
/// "hc_attn_base"; "hc_ffn_*" of the feed-forward.
///   independent  factor magnitude sigmoid(b_j) + epsilon; streams stay as they are.
///                "hc_attn_fn" [2 streams, streams * width]
///   mixed        factor magnitude sigmoid(b_j); stream j becomes sum over i of M_ij stream_i, where
///                the matrix M [streams, streams] is c after Sinkhorn's iterations.
///                "hc_attn_fn" [(2 + streams) streams, streams * width]
/// The output norm reads such a sum, too, by "output_hc_*", or the mean of the streams. Where shares come
/// late (HyperConnectionSpec::late), a block reads by those of the block before it.
/// Tests: the goldens "hy_v4", "glm5next", "glm5-next" and "deepseek41".
Slot build_hyper_decoder(BuildContext& context);

}  // namespace tenon
