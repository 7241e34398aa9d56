// The gated delta rule as a mixer, with a decay per head or per key channel.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Gated DeltaNet (Qwen3-Next, Qwen3.5) has "attn_qkv", "attn_gate", "ssm_conv1d", "ssm_a",
/// "ssm_dt", "ssm_norm", "ssm_out" and "ssm_alpha", "ssm_beta" or both in "ssm_ba". Kimi Delta
/// Attention has "attn_q", "attn_k", "attn_v" with a convolution each, and low-rank "ssm_f_*" and
/// "ssm_g_*". DeltaSpec selects.
///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
Slot delta_rule(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
