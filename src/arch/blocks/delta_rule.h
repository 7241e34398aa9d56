// The gated delta rule as a mixer, with a decay for each head or for each key channel.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// DeltaSpec. Gated DeltaNet (Qwen3-Next, Qwen3.5) has "attn_qkv", "attn_gate", "ssm_conv1d",
/// "ssm_a", "ssm_dt", "ssm_norm", "ssm_out" and "ssm_alpha", "ssm_beta" or both in "ssm_ba"; Kimi
/// Delta Attention "attn_q", "attn_k", "attn_v", a convolution for each, and low-rank "ssm_f_*" and
/// "ssm_g_*".
///   x [T, width], normalised -> [T, or in the last layer R, width]
Slot delta_rule(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
