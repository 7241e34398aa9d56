// What host and device agree on in a launch, besides the structures of gpu/stage_parameters.h.
#pragma once

#include "backends/gpu/step_layout.h"

namespace tenon::cuda {

/// Threads of a warp, and of a group at most.
inline constexpr gpu::uint kWarp = 32;
inline constexpr gpu::uint kMostThreads = 128;

/// Groups that a multiprocessor must have room for at once, which leaves a thread 64 registers of the 65,536. Without
/// a number the compiler makes room for more, and registers spill.
inline constexpr gpu::uint kLeastGroups = 8;

/// The second argument of a kernel, after the address of its parameters: the constants of a KernelKey from 1 on.
struct Constants {
  gpu::uint values[4];
};

}  // namespace tenon::cuda
