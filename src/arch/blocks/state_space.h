// Selective state spaces as mixers: Mamba and Mamba 2.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// StateSpaceSpec, with "ssm_in", "ssm_conv1d", "ssm_dt", "ssm_a", "ssm_d" and "ssm_out"; Mamba has
/// "ssm_x" besides, Mamba 2 may have "ssm_norm".
///   x [T, width], normalised -> [T, or in the last layer R, width]
Slot state_space(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
