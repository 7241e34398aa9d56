// The short convolution of LFM2 as a mixer.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Liquid AI 2025: [b, c, v] = in_proj(x), out_proj(c conv(b v)), with "shortconv.in_proj",
/// "shortconv.conv" and "shortconv.out_proj".
///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
Slot short_conv(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
