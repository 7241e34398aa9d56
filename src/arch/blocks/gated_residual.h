// Residual streams with a gate per value (Qwen4-Exp). hyper_connection.h has streams with a share
// each.
#pragma once

#include <string>

#include "arch/build_context.h"

namespace tenon {

/// Builds a decoder like build_hyper_decoder's, of HyperConnectionSpec::streams (n) residual
/// streams, whose only norms are these. With s = norm(streams), each stream separately, a block
/// reads
///   1/n sum over j of sigmoid(up silu(down s / n))_j s_j
/// and its result is added to stream j times 2 sigmoid(inject_j s / n). Tensors: "hc_attn_norm" [n
/// * width], "_down" [low_rank, n * width], "_up" [n * width, low_rank], "_inject" [n, n * width];
/// "hc_ffn_*" for the feed-forward. The head reads such a sum, too: "output_hc_*". Layers with
/// an NgramSpec first add the result of ngram_embedding. Test: the golden "qwen4exp".
Slot build_gated_residual_decoder(BuildContext& context);

/// Normalises each stream of x [., n * width] separately, times `name`.weight [n * width].
Slot norm_of_streams(BuildContext& context, Slot x, const std::string& name);

}  // namespace tenon
