// C++ dialect of the texts shared by both plugins (gpu/kernels), used with device.h.
// vulkan/shaders/gpu_dialect.glsl explains each word. A kernel includes its text in its structure,
// after `stage` and `constants`. Stateless texts are included in the namespace below.
#pragma once

#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_half.h"
#include "backends/gpu/draw_arithmetic.h"

#define TENON_CONSTANT inline constexpr
#define TENON_VARIABLE(type, name) \
  type name {}
/// Shared arrays may only be declared in functions, so an array is an object with an index
/// operator.
#define TENON_GROUP_ARRAY(type, name, count)      \
  struct {                                        \
    TENON_DEVICE type& operator[](uint i) const { \
      TENON_SHARED(type, of_group, count);        \
      return of_group[i];                         \
    }                                             \
  } name{};
#define TENON_OUT(type, name, count) type(&name)[count]
#define TENON_MAKE(type) ::tenon::cuda::make<type>

/// Parameters and constants of a kernel.
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

/// CUDA's barriers also order device memory.
using SharedFloats = Floats;
using SharedWords = Words;
TENON_DEVICE void memory_barrier() { barrier(); }

/// Lanes before this one that vote yes (x), and all that do (y). All lanes call it.
TENON_DEVICE Pair warp_votes(bool yes) {
  const uint votes = ballot(yes);
  return Pair(count_bits(votes & ((1u << lane()) - 1u)), count_bits(votes));
}

#include "backends/gpu/kernels/common.inl"
#include "backends/gpu/kernels/math.inl"
#include "backends/gpu/kernels/state.inl"
#include "backends/gpu/kernels/weight_bytes.inl"

}  // namespace tenon::cuda
