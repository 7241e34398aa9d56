// What lets the positions of a text see each other in a layer: attention or recurrences. Each kind
// stands in a file of its own.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// The mixer that the layer's specification asks for; the sum of those of a layer with several.
///   x [T, width], normalised -> [T, or in the last layer R, width]
Slot mixer(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
