// Implements the types required by gpu/device_executable.h.
#pragma once

#include <cstdint>
#include <span>

#include "backends/cuda/cuda_commands.h"
#include "backends/cuda/cuda_context.h"
#include "backends/cuda/kernels/constants.h"
#include "backends/gpu/device_executable.h"

namespace tenon::cuda {

struct Types {
  using Context = cuda::Context;
  using Memory = cuda::Memory;
  using Commands = cuda::Commands;
  static constexpr Access kOfDevice = Access::Device;
  static constexpr Access kUpload = Access::Host;
  static constexpr Access kDownload = Access::Host;

  /// Memory is zeroed on creation.
  static void zero(Context&, const Memory&) {}
  static uint64_t largest_chunk(const Context&) { return UINT64_MAX; }
  static uint64_t shared_bytes(const Context& context) { return context.facts().shared_bytes; }
  static gpu::StageLimits limits(const Context& context) {
    return {context.group_threads(), kWarp, context.multiprocessors()};
  }
  static gpu::Families families(const Context& context) {
    using enum gpu::Family;
    if (context.multiprocessors() == 0) return {};
    gpu::Families all{UnitsF16, UnitsQ8_0, UnitsQ4_K, UnitsQ6_K, SharedAttention};
    // Only 9.0 has wgmma.
    if (context.facts().major != 9 || context.facts().minor != 0) return all;
    for (const gpu::Family family :
         {WarpgroupsF16, WarpgroupsQ8_0, WarpgroupsQ4_K, WarpgroupsQ6_K}) {
      all = all.with(family);
    }
    return all;
  }
  /// All kernels were loaded with the device.
  static void prepare_kernels(Context&, std::span<const gpu::Stage>, bool) {}
};

}  // namespace tenon::cuda
