// The blocks of RWKV 6 and 7: the time mix, a recurrence over a matrix per head, and the channel
// mix, which also reads the previous token.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// The mixer of a layer with a WkvSpec, including its output matrix.
///   x [T, width] -> [T, width]; [R, width] in the last layer
Slot wkv(BuildContext& context, uint32_t layer, Slot x);

/// The time mixes of RWKV 6 and 7 without the output matrix: x [T, width] -> [T, width].
Slot time_mix_6(BuildContext& context, uint32_t layer, Slot x);
Slot time_mix_7(BuildContext& context, uint32_t layer, Slot x);

/// Builds RWKV 6 or 7: layers of time mix and channel mix. Returns the logits [R, vocab].
Slot build_rwkv(BuildContext& context);

}  // namespace tenon
