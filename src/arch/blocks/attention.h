// The attention blocks of decoders.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Softmax attention of a layer (Vaswani et al. 2017; heads that share keys and values: Ainslie et
/// al. 2023), with "attn_q", "attn_k" and "attn_v" or "attn_qkv", and "attn_output".
///   x [T, width], normalised -> [T, or in the last layer R, width]
Slot attention_block(BuildContext& context, uint32_t layer, Slot x);

/// What an attention operation of the layer looks at and how; `heads` and `scale` as the layer
/// says.
AttentionOptions attention_options(const BuildContext& context, uint32_t layer);

/// query [T, .], times what the layer says of its position.
Slot scaled_by_position(BuildContext& context, uint32_t layer, Slot query);

/// "attn_sinks" [heads] where the layer has them, else kNoSlot.
Slot attention_sinks(BuildContext& context, uint32_t layer);

/// attended [T, columns], times the gate that the layer's x [T, width] gives.
Slot gated_by_input(BuildContext& context, uint32_t layer, Slot x, Slot attended);

/// "attn_output" of the rows that are wanted.
///   attended [T, columns] -> [T or R, width]
Slot attention_output(BuildContext& context, uint32_t layer, Slot attended, uint64_t columns);

}  // namespace tenon
