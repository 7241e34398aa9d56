// C++ dialect of the texts that both plugins compile (gpu/kernels), beside device.h.
// vulkan/shaders/gpu_dialect.glsl explains each word. A kernel includes its text in its structure,
// after `stage` and `constants`. Texts without state are included in the namespace, below.
#pragma once

#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_half.h"
#include "backends/gpu/draw_arithmetic.h"

#define TENON_CONSTANT inline constexpr
#define TENON_VARIABLE(type, name) \
  type name {}
/// Shared memory may be declared in functions only, so an array is an object that indexes one.
#define TENON_GROUP_ARRAY(type, name, count)      \
  struct {                                        \
    TENON_DEVICE type& operator[](uint i) const { \
      TENON_SHARED(type, of_group, count);        \
      return of_group[i];                         \
    }                                             \
  } name{};
#define TENON_OUT(type, name, count) type(&name)[count]
#define TENON_MAKE(type) ::tenon::cuda::make<type>

/// Parameters of a kernel, and its constants.
#define TENON_STAGE(type) \
  gpu::type stage;        \
  Constants constants

namespace tenon::cuda {

using namespace gpu;  // the numbers by which kernels choose

inline constexpr uint kMostWarps = kMostThreads / kWarp;

template <typename T, typename... Members>
TENON_DEVICE T make(Members... members) {
  return {members...};
}

/// CUDA's barriers order memory of the device, too.
using SharedFloats = Floats;
using SharedWords = Words;
TENON_DEVICE void memory_barrier() { barrier(); }

/// Number of lanes before this one that say yes (x), and of all that do (y). All lanes call it.
TENON_DEVICE Pair warp_votes(bool yes) {
  const uint votes = ballot(yes);
  return Pair(count_bits(votes & ((1u << lane()) - 1u)), count_bits(votes));
}

#include "backends/gpu/kernels/common.inl"
#include "backends/gpu/kernels/math.inl"
#include "backends/gpu/kernels/state.inl"
#include "backends/gpu/kernels/weight_bytes.inl"

}  // namespace tenon::cuda
