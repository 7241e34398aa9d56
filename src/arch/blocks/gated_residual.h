// Residual streams whose values are gated one by one (Qwen4-Exp). Streams that are shared out as a
// whole are in hyper_connection.h.
#pragma once

#include <string>

#include "arch/build_context.h"

namespace tenon {

/// A decoder as build_hyper_decoder's, of ModelSpec::hyper_connection.streams (n) residual streams,
/// without norms besides these. With s = norm(streams), each stream by itself, a block reads
///   1/n sum over j of sigmoid(up silu(down s / n))_j s_j
/// and what it gives is added to stream j times 2 sigmoid(inject_j s / n): "hc_attn_norm"
/// [n * width], "_down" [low_rank, n * width], "_up" [n * width, low_rank], "_inject" [n, n * width];
/// "hc_ffn_*" of the feed-forward. The head reads such a sum, too: "output_hc_*". Before a layer with
/// LayerSpec::ngram what ngram_embedding gives is added. Test: the golden "qwen4exp".
Slot build_gated_residual_decoder(BuildContext& context);

/// Each of the streams x [., n * width] normalised by itself, times `name`.weight [n * width].
Slot norm_of_streams(BuildContext& context, Slot x, const std::string& name);

}  // namespace tenon
