// Implements the types required by gpu/device_executable.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/gpu/device_executable.h"
#include "backends/vulkan/vulkan_commands.h"
#include "backends/vulkan/vulkan_context.h"

namespace tenon::vulkan {

struct Types {
  using Context = vulkan::Context;
  using Memory = vulkan::Memory;
  using Commands = vulkan::Commands;
  static constexpr Access kOfDevice = Access::Device;
  static constexpr Access kUpload = Access::Upload;
  static constexpr Access kDownload = Access::Download;

  static void zero(Context& context, const Memory& memory) { context.zero(memory); }
  static uint64_t largest_chunk(const Context& context) {
    return context.physical().largest_allocation;
  }
  static uint64_t shared_bytes(const Context& context) { return context.physical().shared_bytes; }
  static gpu::StageLimits limits(const Context& context) {
    return {.group_threads = context.group_threads(),
            .subgroup_size = context.physical().subgroup_size,
            // Like a single multiprocessor: groups that share a tile would need barriers unknown to
            // hazards.h.
            .multiprocessors = 1,
            // Registers hold 64 sums; processors take too long to compile as many.
            .linear_rows = context.is_processor() ? 2u : 8u,
            .linear_tokens = context.is_processor() ? 4u : 8u};
  }
  static gpu::Families families(const Context& context) {
    using enum gpu::Family;
    if (context.unit_products() == UnitProducts::None) return {};
    return {UnitsF16, UnitsQ8_0, UnitsQ4_K, UnitsQ6_K};
  }
  static void prepare_kernels(Context& context, std::span<const gpu::Stage> stages, bool draws) {
    std::vector<gpu::KernelKey> keys;
    for (const gpu::Stage& stage : stages) keys.push_back(stage.kernel);
    if (draws) keys.push_back(gpu::kDrawKernel);
    context.make_pipelines(keys);
  }
};

}  // namespace tenon::vulkan
