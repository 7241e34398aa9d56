// The feed-forward blocks of decoders. Each takes x [., width], normalised, and gives [., width].
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// The one that the layer's specification asks for.
Slot feed_forward(BuildContext& context, uint32_t layer, Slot x);

/// down(act(gate x) up x), with "ffn_gate", "ffn_up" and "ffn_down".
Slot gated_feed_forward(BuildContext& context, uint32_t layer, Slot x);
/// down(relu(up x)^2), with "ffn_up" and "ffn_down".
Slot squared_relu_feed_forward(BuildContext& context, uint32_t layer, Slot x);
/// The weighted sum of what a row's experts make of it and, if there is one, the shared expert's:
/// "ffn_gate_inp" (the router), "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps" and the same with
/// "_shexp".
Slot expert_feed_forward(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
