// The blocks of RWKV 6 and 7: the mix of positions by a recurrence over a matrix for each head, and
// the mix of channels that reads the token before, too.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// The mixer of a layer with a WkvSpec, its output matrix included.
///   x [T, width] -> [T, width]; [R, width] in the last layer
Slot wkv(BuildContext& context, uint32_t layer, Slot x);

/// The same before its output matrix, of RWKV 6 and of RWKV 7: x [T, width] -> [T, width].
Slot time_mix_6(BuildContext& context, uint32_t layer, Slot x);
Slot time_mix_7(BuildContext& context, uint32_t layer, Slot x);

/// RWKV 6 or 7: layers of time mix and channel mix. Returns the logits [R, vocab].
Slot build_rwkv(BuildContext& context);

}  // namespace tenon
