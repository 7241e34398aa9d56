// The feed-forward blocks of decoders. Each maps x [., width], normalised, to [., width].
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// The feed-forward of the layer's specification.
Slot feed_forward(BuildContext& context, uint32_t layer, Slot x);

/// down(act(gate x) up x), with "ffn_gate", "ffn_up" and "ffn_down".
Slot gated_feed_forward(BuildContext& context, uint32_t layer, Slot x);
/// down(act(up x)), with "ffn_up" and "ffn_down".
Slot plain_feed_forward(BuildContext& context, uint32_t layer, Slot x);
/// Weighted sum of a row's experts and, if there is one, the shared expert: "ffn_gate_inp" (the
/// router), "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps", and the shared expert's with "_shexp".
Slot expert_feed_forward(BuildContext& context, uint32_t layer, Slot x);

/// Routing: selects experts for each row of x [., width].
///   expert_scale  [1, experts], multiplies their weights; may be kNoSlot
Route expert_routes(BuildContext& context, uint32_t layer, Slot x, Slot expert_scale = kNoSlot);
/// Weighted sum of the selected experts' results for x [., columns].
Slot routed_experts(BuildContext& context, uint32_t layer, Slot x, const Route& chosen,
                    uint64_t columns);

}  // namespace tenon
