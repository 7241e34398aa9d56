#include "backends/vulkan/vulkan_entry.h"

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "abi/failure.h"
#include "backends/common/device_text.h"
#include "backends/common/entry.h"
#include "backends/gpu/device_plugin.h"
#include "backends/vulkan/vulkan_context.h"
#include "backends/vulkan/vulkan_types.h"

namespace tenon::vulkan {
namespace {

///   has_unit_products  products by f16 matrices
tenon_device_info describe(const PhysicalDevice& device, uint32_t index, bool has_unit_products) {
  tenon_device_info info{};
  // The backend `cpu` outperforms a processor used as a Vulkan device.
  const bool is_cpu = device.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  info.kind = is_cpu ? TENON_DEVICE_REFERENCE : TENON_DEVICE_GPU;
  backends::copy_text(info.name, index == 0 ? "vulkan" : fmt::format("vulkan {}", index));
  backends::copy_text(info.description, fmt::format("{} ({}), subgroups of {}, {}", device.name,
                                                    device.driver, device.subgroup_size,
                                                    has_unit_products ? "f16 products" : "f32"));
  backends::copy_text(info.unavailable, device.unavailable);
  info.memory_total = device.memory_total;
  info.memory_available = device.memory_available;
  info.flags = TENON_DEVICE_BATCH_INVARIANT | TENON_DEVICE_DRAWS;
  info.precision_float = info.precision_bf16 = info.precision_blocks = TENON_PRECISION_F32;
  if (has_unit_products) {
    info.precision_f16 = info.precision_bf16 = info.precision_blocks = TENON_PRECISION_F16;
  }
  // llvmpipe ends a thread's loops after 65,535 iterations (docs/inside/gpu.md); short steps stay
  // below.
  info.step_tokens = is_cpu ? 64 : 512;
  info.step_outputs = 128;
  info.token_multiple = 4;
  info.block_tokens = 64;
  info.slab_bytes = uint64_t{64} << 20;
  info.steps_under_way = gpu::kStepsUnderWay;
  return info;
}

constexpr tenon_backend_option_info kOptions[] = {
    gpu::kDeviceOptions[0],
    {"products", "auto, f32 or emulated", "auto",
     "How matrices are multiplied: auto: in f16 by cooperative matrices where the driver has them, "
     "else in f32; "
     "emulated: as with cooperative matrices, without them, which is slow and for tests."},
};

/// Empty means the device's default.
std::optional<UnitProducts> read_products(std::string_view value) {
  if (value == "auto") return std::nullopt;
  if (value == "f32") return UnitProducts::None;
  if (value == "emulated") return UnitProducts::Emulated;
  backends::refuse(TENON_BACKEND_ARGUMENT, "products: \"{}\" is none of auto, f32, emulated",
                   value);
}

struct Vulkan : gpu::DevicePlugin<Types> {
  static constexpr char kName[] = "vulkan";

  static std::span<const tenon_backend_option_info> options() noexcept { return kOptions; }

  static std::unique_ptr<Device> make_device(const tenon_host* host, uint32_t index,
                                             std::span<const tenon_backend_option> options) {
    std::vector<tenon_backend_option> others;
    std::optional<UnitProducts> products;
    for (const tenon_backend_option& option : options) {
      if (std::string_view(option.key) == "products") {
        products = read_products(option.value);
      } else {
        others.push_back(option);
      }
    }
    auto device = DevicePlugin::make_device(host, index, others);
    if (products) device->context.choose_unit_products(*products);
    return device;
  }

  static std::vector<tenon_device_info> list() {
    const Instance instance;
    std::vector<tenon_device_info> infos;
    for (const PhysicalDevice& device : instance.devices()) {
      const auto index = static_cast<uint32_t>(infos.size());
      infos.push_back(describe(device, index, device.has_matrices));
    }
    return infos;
  }
  static tenon_device_info info(const Device& device) {
    const bool has_unit_products = device.self_tests.believed(device.context) != gpu::Families{};
    tenon_device_info info = describe(device.context.physical(), device.index, has_unit_products);
    info.memory_available = device.context.memory_available();
    return info;
  }
};

}  // namespace
}  // namespace tenon::vulkan

const tenon_backend_api* tenon_vulkan_backend_entry(uint32_t host_major, uint32_t) {
  return tenon::backends::entry_of<tenon::vulkan::Vulkan>(host_major);
}
