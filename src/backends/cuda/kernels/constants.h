// Launch constants shared by host and device, besides gpu/stage_parameters.h.
#pragma once

#include "backends/gpu/step_layout.h"

namespace tenon::cuda {

/// Threads per warp, and most threads per group.
inline constexpr gpu::uint kWarp = 32;
inline constexpr gpu::uint kMostThreads = 128;

/// Groups that a multiprocessor must hold at once, which leaves 64 of 65,536 registers per thread.
/// Without a bound, the compiler plans for more groups and spills registers.
inline constexpr gpu::uint kLeastGroups = 8;

/// Second argument of a kernel, after its parameters' address: constants 1 .. of a KernelKey.
struct Constants {
  gpu::uint values[4];
};

}  // namespace tenon::cuda
