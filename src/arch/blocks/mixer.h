// The mixer of a layer, which mixes positions of a text: attention or recurrences. Each kind has a
// file of its own.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// The layer's attention and its other mixers (BlockSpec), summed.
///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
Slot mixer(BuildContext& context, uint32_t layer, Slot x);

/// Declares the caches and states of all blocks of the layer.
void add_caches(BuildContext& context, uint32_t layer);

}  // namespace tenon
