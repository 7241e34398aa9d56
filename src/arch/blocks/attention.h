// The attention blocks of decoders.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Softmax attention of a layer (Vaswani et al. 2017; shared keys and values: Ainslie et al. 2023),
/// with "attn_q", "attn_k" and "attn_v" or "attn_qkv", and "attn_output".
///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
Slot attention_block(BuildContext& context, uint32_t layer, Slot x);

/// Declares the caches of a layer's attention, of any kind.
void add_attention_caches(BuildContext& context, uint32_t layer);

/// Options of the layer's attention operation; `heads` and `scale` are those of the layer.
AttentionOptions attention_options(const BuildContext& context, uint32_t layer);

/// Scales query [T, .] by its position, as the layer says.
Slot scaled_by_position(BuildContext& context, uint32_t layer, Slot query);

/// "attn_sinks" [heads] of the layer; kNoSlot if it has none.
Slot attention_sinks(BuildContext& context, uint32_t layer);

/// attended [T, columns], multiplied by the layer's gate, which is computed from x [T, width].
Slot gated_by_input(BuildContext& context, uint32_t layer, Slot x, Slot attended);

/// "attn_output", on the wanted rows only.
///   attended [T, columns] -> [T or R, width]
Slot attention_output(BuildContext& context, uint32_t layer, Slot attended, uint64_t columns);

}  // namespace tenon
