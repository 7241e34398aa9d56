// Attention residuals: blocks read residuals of earlier layers (Kimi K3).
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// A part of ModelSpec::specs.
struct AttentionResidualSpec {
  uint32_t layers = 0;  ///< layers per residual
};

/// Builds a decoder with attention residuals (Kimi K3's technical report, arXiv 2607.24653,
/// equations 8 to 10). The residual restarts every AttentionResidualSpec::layers layers. Its earlier
/// values b_0 .. b_{n-1}, the embedding first, remain readable. Instead of the residual x, a block
/// reads
///   sum over i of p_i v_i,  p = softmax over i of w . (v_i / rms(v_i)),  v = b_0 .. b_{n-1}, x
/// with w = "attn_res_score" [width], or "ffn_res_score" for the feed-forward. The head does the
/// same with "output_res_score". The first layer's attention reads x, its only choice. Test: the
/// golden "kimi-k3".
Slot build_attention_residual_decoder(BuildContext& context);

}  // namespace tenon
