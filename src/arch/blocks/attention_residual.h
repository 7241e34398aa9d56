// Residuals that attend to those of earlier layers (Kimi K3).
#pragma once

#include "arch/build_context.h"

namespace tenon {

/// A decoder whose residual is added up anew from every ModelSpec::residual_block layers on, while
/// what it was before, b_0 .. b_{n-1} with the embedding first, stays to be looked at (attention
/// residuals: Kimi K3's technical report, arXiv 2607.24653, equations 8 to 10). A block reads, in
/// place of the residual x,
///   sum over i of p_i v_i,  p = softmax over i of w . (v_i / rms(v_i)),  v = b_0 .. b_{n-1}, x
/// with w "attn_res_score" [width], of the feed-forward "ffn_res_score", and so does the head:
/// "output_res_score". The first layer's attention, which has only x to look at, reads x.
/// Test: the golden "kimi-k3".
Slot build_attention_residual_decoder(BuildContext& context);

}  // namespace tenon
