// Selective state spaces as mixers: Mamba and Mamba 2.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Needs "ssm_in", "ssm_conv1d", "ssm_dt", "ssm_a", "ssm_d" and "ssm_out"; Mamba also "ssm_x",
/// Mamba 2 maybe "ssm_norm". StateSpaceSpec selects.
///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
Slot state_space(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
