// The CPU backend with another operation table than its own, as a plugin for the conformance suite.
#pragma once

#include <memory>
#include <span>

#include "backends/common/device_text.h"
#include "backends/common/entry.h"
#include "backends/cpu/device.h"
#include "backends/cpu/executable.h"

namespace tenon::cpu {

/// Table: has
///   kName         name of the backend
///   kDescription  of its device
///   kOperations   entries
///   kBlocks       TENON_PRECISION_* of products with weights in blocks
template <typename Table>
struct TableCpu {
  static constexpr const char* kName = Table::kName;

  using Device = cpu::Device;
  using Executable = cpu::Executable;

  static std::span<const tenon_backend_option_info> options() noexcept { return {}; }

  static tenon_device_info info() {
    tenon_device_info info{};
    info.kind = TENON_DEVICE_CPU;
    backends::copy_text(info.name, kName);
    backends::copy_text(info.description, Table::kDescription);
    info.flags = TENON_DEVICE_BATCH_INVARIANT;
    info.precision_float = info.precision_f16 = info.precision_bf16 = TENON_PRECISION_F32;
    info.precision_blocks = Table::kBlocks;
    info.step_tokens = info.step_outputs = 256;
    info.token_multiple = 1;
    info.block_tokens = 32;
    info.slab_bytes = uint64_t{8} << 20;
    info.steps_under_way = 1;
    return info;
  }
  static tenon_device_info info(const Device&) { return info(); }

  static std::unique_ptr<Device> make_device(const tenon_host* host,
                                             std::span<const tenon_backend_option> options) {
    if (!options.empty()) {
      backends::refuse(TENON_BACKEND_ARGUMENT, "unknown option \"{}\"; it has none",
                       options[0].key);
    }
    auto device = std::make_unique<Device>(Device{host, *choose_kernels("portable"), false});
    device->kernels.fixed_f16 = device->kernels.fixed_bf16 = false;
    return device;
  }

  static bool supports(const tenon_program& program, uint32_t op) noexcept {
    return supports_op(program, op, Table::kOperations);
  }

  static std::unique_ptr<Executable> compile(const Device& device, const tenon_program& program) {
    for (uint32_t i = 0; i < program.num_ops; ++i) {
      if (supports(program, i)) continue;
      backends::refuse(TENON_BACKEND_UNSUPPORTED, "operation {} is not supported as given", i);
    }
    return std::make_unique<Executable>(*device.host, device.kernels, program, Table::kOperations);
  }
};

}  // namespace tenon::cpu
