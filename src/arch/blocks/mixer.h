// The mixer of a layer, which mixes positions of a text: attention or recurrences. Each kind has a
// file of its own.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// The mixer of the layer's specification, or the sum of several.
///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
Slot mixer(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
