// The attention blocks of decoders.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Softmax attention of a layer (Vaswani et al. 2017; heads that share keys and values: Ainslie et
/// al. 2023), with "attn_q", "attn_k" and "attn_v" or "attn_qkv".
///   x [T, width], normalised -> [T, heads * value_dim]
Slot attention(BuildContext& context, uint32_t layer, Slot x);

/// "attn_output".
///   attended [., heads * value_dim] -> [., width]
Slot attention_output(BuildContext& context, uint32_t layer, Slot attended);

}  // namespace tenon
