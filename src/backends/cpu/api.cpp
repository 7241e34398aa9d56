#include "backends/cpu/api.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backends/common/device_text.h"
#include "backends/common/entry.h"
#include "backends/common/strided.h"
#include "backends/cpu/device.h"
#include "backends/cpu/executable.h"

namespace tenon::cpu {
namespace {

using backends::refuse;

constexpr tenon_backend_option_info kOptions[] = {
    {"isa", "portable, avx2, avx2_vnni, avx512, neon or neon_i8mm", "",
     "The kernels to use; empty: the best that the processor can run."},
    {"bf16_activations", "fixed or f32", "fixed",
     "What bf16 weights are multiplied with: integers of 14 bits, or f32."},
};

Kernels kernels_of(std::span<const tenon_backend_option> options) {
  std::string isa;
  std::string bf16_activations = "fixed";
  for (const tenon_backend_option& option : options) {
    const std::string_view key = option.key;
    if (key == "isa") {
      isa = option.value;
    } else if (key == "bf16_activations") {
      bf16_activations = option.value;
    } else {
      refuse(TENON_BACKEND_ARGUMENT, "unknown option \"{}\"; known: isa, bf16_activations", key);
    }
  }
  if (bf16_activations != "fixed" && bf16_activations != "f32") {
    refuse(TENON_BACKEND_ARGUMENT, "option \"bf16_activations\" is \"{}\"; it can be fixed or f32",
           bf16_activations);
  }
  const Kernels* chosen = choose_kernels(isa);
  if (chosen == nullptr) {
    refuse(TENON_BACKEND_ARGUMENT,
           "option \"isa\": no kernels \"{}\" on this machine; available: {}", isa,
           available_kernels());
  }
  Kernels kernels = *chosen;
  if (bf16_activations == "f32") kernels.fixed_point = false;
  return kernels;
}

struct Cpu {
  static constexpr char kName[] = "cpu";

  using Device = cpu::Device;
  using Executable = cpu::Executable;

  static std::span<const tenon_backend_option_info> options() noexcept { return kOptions; }

  static tenon_device_info info() { return info_of(*choose_kernels("")); }
  static tenon_device_info info(const Device& device) { return info_of(device.kernels); }

  static std::unique_ptr<Device> make_device(const tenon_host* host,
                                             std::span<const tenon_backend_option> options) {
    return std::make_unique<Device>(Device{host, kernels_of(options)});
  }

  static bool supports(const tenon_program& program, uint32_t op) noexcept {
    return supports_op(program, ops_of(program)[op]);
  }

  static std::unique_ptr<Executable> compile(const Device& device, const tenon_program& program) {
    for (uint32_t i = 0; i < program.num_ops; ++i) {
      if (supports(program, i)) continue;
      refuse(TENON_BACKEND_UNSUPPORTED, "operation {} is not supported", i);
    }
    return std::make_unique<Executable>(*device.host, device.kernels, program);
  }

 private:
  static tenon_device_info info_of(const Kernels& kernels) {
    tenon_device_info info{};
    info.kind = TENON_DEVICE_CPU;
    backends::copy_text(info.name, kName);
    // All that the bits of a result depend on: snapshots hold this text.
    backends::copy_text(info.description, processor_name() + ", " + kernels.name + " kernels" +
                                              (kernels.fixed_point ? ", bf16 in fixed point" : ""));
    info.flags = TENON_DEVICE_BATCH_INVARIANT;
    info.precision_float = TENON_PRECISION_F32;
    info.precision_bf16 = kernels.fixed_point ? TENON_PRECISION_FIXED14 : TENON_PRECISION_F32;
    info.precision_blocks = TENON_PRECISION_INT8;
    info.step_tokens = info.step_outputs = 256;
    info.token_multiple = 4;  // rows are computed by twelves, eights or fours
    info.block_tokens = 32;
    info.slab_bytes = uint64_t{8} << 20;  // 2 MiB pages pay, and a short text does not claim much
    info.steps_under_way = 1;
    return info;
  }
};

}  // namespace
}  // namespace tenon::cpu

extern "C" const tenon_backend_api* tenon_cpu_backend_entry(uint32_t host_major, uint32_t) {
  return tenon::backends::entry_of<tenon::cpu::Cpu>(host_major);
}
