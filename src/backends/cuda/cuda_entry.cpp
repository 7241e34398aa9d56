#include "backends/cuda/cuda_entry.h"

#include <vector>

#include "backends/common/device_text.h"
#include "backends/common/entry.h"
#include "backends/cuda/cuda_context.h"
#include "backends/cuda/cuda_types.h"
#include "backends/gpu/device_plugin.h"

namespace tenon::cuda {
namespace {

tenon_device_info describe(const DeviceFacts& device, uint32_t index) {
  tenon_device_info info{};
  info.kind = TENON_DEVICE_GPU;
  backends::copy_text(info.name, index == 0 ? "cuda" : fmt::format("cuda {}", index));
  backends::copy_text(info.description, fmt::format("{} (compute capability {}.{}), f16 products",
                                                    device.name, device.major, device.minor));
  backends::copy_text(info.unavailable, device.unavailable);
  info.memory_total = info.memory_available = device.memory_total;
  info.flags = TENON_DEVICE_BATCH_INVARIANT | TENON_DEVICE_DRAWS;
  // Precision of matrix instructions; f32 weights, attention and all other operations use f32.
  info.precision_float = TENON_PRECISION_F32;
  info.precision_f16 = info.precision_bf16 = info.precision_blocks = TENON_PRECISION_F16;
  info.step_tokens = 512;
  info.step_outputs = 128;
  info.token_multiple = 4;
  info.block_tokens = 64;
  info.slab_bytes = uint64_t{64} << 20;
  info.steps_under_way = gpu::kStepsUnderWay;
  return info;
}

struct Cuda : gpu::DevicePlugin<Types> {
  static constexpr char kName[] = "cuda";

  static std::vector<tenon_device_info> list() {
    const Driver driver;
    std::vector<tenon_device_info> infos;
    for (const DeviceFacts& device : driver.devices()) {
      infos.push_back(describe(device, static_cast<uint32_t>(infos.size())));
    }
    return infos;
  }
  static tenon_device_info info(const Device& device) {
    tenon_device_info info = describe(device.context.facts(), device.index);
    info.memory_available = device.context.memory_available();
    return info;
  }
};

}  // namespace
}  // namespace tenon::cuda

const tenon_backend_api* tenon_cuda_backend_entry(uint32_t host_major, uint32_t) {
  return tenon::backends::entry_of<tenon::cuda::Cuda>(host_major);
}
