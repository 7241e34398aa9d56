// The feed-forward blocks of decoders. Each takes x [., width], normalised, and gives [., width].
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// The one that the layer's specification asks for.
Slot feed_forward(BuildContext& context, uint32_t layer, Slot x);

/// down(act(gate x) up x), with "ffn_gate", "ffn_up" and "ffn_down".
Slot gated_feed_forward(BuildContext& context, uint32_t layer, Slot x);
/// down(act(up x)), with "ffn_up" and "ffn_down".
Slot plain_feed_forward(BuildContext& context, uint32_t layer, Slot x);
/// The weighted sum of what a row's experts make of it and, if there is one, the shared expert's:
/// "ffn_gate_inp" (the router), "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps" and the same with
/// "_shexp".
Slot expert_feed_forward(BuildContext& context, uint32_t layer, Slot x);

/// Its parts. The experts that the router chooses for each row of x [., width]:
///   expert_scale  [1, experts], multiplies their weights; or kNoSlot
Route expert_routes(BuildContext& context, uint32_t layer, Slot x, Slot expert_scale = kNoSlot);
/// The weighted sum of what the chosen experts make of x [., columns].
Slot routed_experts(BuildContext& context, uint32_t layer, Slot x, const Route& chosen,
                    uint64_t columns);

}  // namespace tenon
