#include "backends/vulkan/vulkan_entry.h"

#include <memory>
#include <span>
#include <vector>

#include "backends/common/device_text.h"
#include "backends/common/entry.h"
#include "backends/gpu/device_options.h"
#include "backends/gpu/stage_operations.h"
#include "backends/vulkan/vulkan_buffer.h"
#include "backends/vulkan/vulkan_context.h"
#include "backends/vulkan/vulkan_executable.h"

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
  info.steps_under_way = 1;
  return info;
}

struct Vulkan {
  static constexpr char kName[] = "vulkan";

  struct Device {
    Device(const tenon_host* services, uint32_t number, uint64_t memory_limit)
        : host(services), index(number), context(services, number, memory_limit) {}
    const tenon_host* host;
    uint32_t index;
    mutable Context context;  // executables share it
  };
  using Executable = vulkan::Executable;
  using Buffer = vulkan::Buffer;

  static std::span<const tenon_backend_option_info> options() noexcept {
    return gpu::kDeviceOptions;
  }

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

  static std::unique_ptr<Device> make_device(const tenon_host* host, uint32_t index,
                                             std::span<const tenon_backend_option> options) {
    return std::make_unique<Device>(host, index, gpu::read_memory_limit(options));
  }

  static bool supports(const Device& device, const tenon_program& program, uint32_t op) noexcept {
    return gpu::fits_device(program, op, device.context.physical().shared_bytes);
  }

  static std::unique_ptr<Buffer> make_buffer(Device& device, uint64_t size, uint32_t) {
    return std::make_unique<Buffer>(device.context, size);
  }

  static std::unique_ptr<Executable> compile(const Device& device, const tenon_program& program) {
    return std::make_unique<Executable>(device.context, program);
  }
};

}  // namespace
}  // namespace tenon::vulkan

const tenon_backend_api* tenon_vulkan_backend_entry(uint32_t host_major, uint32_t) {
  return tenon::backends::entry_of<tenon::vulkan::Vulkan>(host_major);
}
