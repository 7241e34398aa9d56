#include "backends/vulkan/vulkan_entry.h"

#include <vector>

#include "backends/common/device_text.h"
#include "backends/common/entry.h"
#include "backends/gpu/device_plugin.h"
#include "backends/vulkan/vulkan_context.h"
#include "backends/vulkan/vulkan_types.h"

namespace tenon::vulkan {
namespace {

tenon_device_info describe(const PhysicalDevice& device, uint32_t index) {
  tenon_device_info info{};
  // What a processor computes as a Vulkan device, the backend `cpu` computes better.
  const bool is_cpu = device.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  info.kind = is_cpu ? TENON_DEVICE_REFERENCE : TENON_DEVICE_GPU;
  backends::copy_text(info.name, index == 0 ? "vulkan" : fmt::format("vulkan {}", index));
  backends::copy_text(info.description, fmt::format("{} ({}), subgroups of {}, f32", device.name,
                                                    device.driver, device.subgroup_size));
  backends::copy_text(info.unavailable, device.unavailable);
  info.memory_total = device.memory_total;
  info.memory_available = device.memory_available;
  info.flags = TENON_DEVICE_BATCH_INVARIANT | TENON_DEVICE_DRAWS;
  info.precision_float = info.precision_bf16 = info.precision_blocks = TENON_PRECISION_F32;
  // llvmpipe ends the loops of a thread after 65,535 iterations (docs/gpu.md): short steps stay below.
  info.step_tokens = is_cpu ? 64 : 512;
  info.step_outputs = 128;
  info.token_multiple = 4;
  info.block_tokens = 64;
  info.slab_bytes = uint64_t{64} << 20;
  info.steps_under_way = gpu::kStepsUnderWay;
  return info;
}

struct Vulkan : gpu::DevicePlugin<Types> {
  static constexpr char kName[] = "vulkan";

  static std::vector<tenon_device_info> list() {
    const Instance instance;
    std::vector<tenon_device_info> infos;
    for (const PhysicalDevice& device : instance.devices()) {
      infos.push_back(describe(device, static_cast<uint32_t>(infos.size())));
    }
    return infos;
  }
  static tenon_device_info info(const Device& device) {
    tenon_device_info info = describe(device.context.physical(), device.index);
    info.memory_available = device.context.memory_available();
    return info;
  }
};

}  // namespace
}  // namespace tenon::vulkan

const tenon_backend_api* tenon_vulkan_backend_entry(uint32_t host_major, uint32_t) {
  return tenon::backends::entry_of<tenon::vulkan::Vulkan>(host_major);
}
