// Hyper-connections: a decoder of several residual streams, mixed around each block.
#pragma once

#include "arch/build_context.h"

namespace tenon {

/// A decoder as build_decoder's, but that a token's row is ModelSpec::hyper_connection.streams
/// residual streams side by side, [T, streams * width], all of them its embedding at first. A block
/// reads
///   sum over j of (sigmoid(a_j) + epsilon) stream_j
/// and what it gives is added to stream j times magnitude sigmoid(b_j) + epsilon. Here a and b are
/// linear in the normalised streams: "hc_attn_fn" [2 streams, streams * width], "hc_attn_scale" [2]
/// of a and of b, "hc_attn_base" [2 streams]; "hc_ffn_*" of the feed-forward. The output norm reads
/// such a sum, too: "output_hc_*". Test: the golden "hy_v4".
Slot build_hyper_decoder(BuildContext& context);

}  // namespace tenon
