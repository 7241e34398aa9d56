#include "backends/cpu/api.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "abi/strided.h"
#include "backends/common/device_text.h"
#include "backends/common/entry.h"
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
    {"f16_activations", "auto, fixed or f32", "auto",
     "What f16 weights are multiplied with; auto: integers in encoders, f32 in what writes text."},
    {"code_activations", "auto, bytes or f32", "auto",
     "What quantised weights of Hugging Face folders and mxfp4 are multiplied with: integers of 8 "
     "bits, or f32; auto: f32 if bf16_activations is f32."},
};

/// Refuses the device unless `value` of an option is one of `choices`.
void check_choice(const char* option, std::string_view value,
                  std::initializer_list<std::string_view> choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  refuse(TENON_BACKEND_ARGUMENT, "option \"{}\" is \"{}\"; it can be {}", option, value,
         fmt::join(choices, " or "));
}

Device device_of(const tenon_host* host, std::span<const tenon_backend_option> options) {
  std::string isa;
  std::string bf16_activations = "fixed";
  std::string f16_activations = "auto";
  std::string code_activations = "auto";
  for (const tenon_backend_option& option : options) {
    const std::string_view key = option.key;
    if (key == "isa") {
      isa = option.value;
    } else if (key == "bf16_activations") {
      bf16_activations = option.value;
    } else if (key == "f16_activations") {
      f16_activations = option.value;
    } else if (key == "code_activations") {
      code_activations = option.value;
    } else {
      refuse(TENON_BACKEND_ARGUMENT,
             "unknown option \"{}\"; known: isa, bf16_activations, f16_activations, "
             "code_activations",
             key);
    }
  }
  check_choice("bf16_activations", bf16_activations, {"fixed", "f32"});
  check_choice("f16_activations", f16_activations, {"auto", "fixed", "f32"});
  check_choice("code_activations", code_activations, {"auto", "bytes", "f32"});
  const Kernels* chosen = choose_kernels(isa);
  if (chosen == nullptr) {
    refuse(TENON_BACKEND_ARGUMENT,
           "option \"isa\": no kernels \"{}\" on this machine; available: {}", isa,
           available_kernels());
  }
  Device device{host, *chosen, f16_activations == "auto"};
  if (bf16_activations == "f32") device.kernels.fixed_bf16 = false;
  if (f16_activations == "f32") device.kernels.fixed_f16 = false;
  device.kernels.float_codes =
      code_activations == "f32" || (code_activations == "auto" && bf16_activations == "f32");
  return device;
}

/// True if tokens attend to the whole text in all layers.
bool is_encoder(const tenon_program& program) {
  bool attends = false;
  for (const tenon_op& op : ops_of(program).copies()) {
    if (op.kind != TENON_OP_ATTENTION) continue;
    if (op.params.attention.mask != TENON_MASK_SYMMETRIC) return false;
    attends = true;
  }
  return attends;
}

struct Cpu {
  static constexpr char kName[] = "cpu";

  using Device = cpu::Device;
  using Executable = cpu::Executable;

  static std::span<const tenon_backend_option_info> options() noexcept { return kOptions; }

  static tenon_device_info info() { return info(device_of(nullptr, {})); }

  static std::unique_ptr<Device> make_device(const tenon_host* host,
                                             std::span<const tenon_backend_option> options) {
    return std::make_unique<Device>(device_of(host, options));
  }

  static bool supports(const tenon_program& program, uint32_t op) noexcept {
    return supports_op(program, op);
  }

  static std::unique_ptr<Executable> compile(const Device& device, const tenon_program& program) {
    for (uint32_t i = 0; i < program.num_ops; ++i) {
      if (supports(program, i)) continue;
      refuse(TENON_BACKEND_UNSUPPORTED, "operation {} is not supported", i);
    }
    Kernels kernels = device.kernels;
    if (device.fixed_f16_of_encoders && !is_encoder(program)) kernels.fixed_f16 = false;
    return std::make_unique<Executable>(*device.host, kernels, program);
  }

  static tenon_device_info info(const Device& device) {
    const Kernels& kernels = device.kernels;
    tenon_device_info info{};
    info.kind = TENON_DEVICE_CPU;
    backends::copy_text(info.name, kName);
    // States everything that result bits depend on: snapshots hold this text.
    backends::copy_text(info.description, processor_name() + ", " + kernels.name + " kernels" +
                                              fixed_formats(device) +
                                              (kernels.float_codes ? ", codes times f32" : ""));
    info.flags = TENON_DEVICE_BATCH_INVARIANT;
    info.precision_float = TENON_PRECISION_F32;
    info.precision_f16 = kernels.fixed_f16 ? TENON_PRECISION_FIXED14 : TENON_PRECISION_F32;
    info.precision_bf16 = kernels.fixed_bf16 ? TENON_PRECISION_FIXED14 : TENON_PRECISION_F32;
    info.precision_blocks = TENON_PRECISION_INT8;
    info.step_tokens = info.step_outputs = 256;
    info.token_multiple = 4;  // rows are computed in groups of 12, 8 or 4
    info.block_tokens = 32;
    // Large enough for 2 MiB pages, small enough for short texts.
    info.slab_bytes = uint64_t{8} << 20;
    info.steps_under_way = 1;
    return info;
  }

 private:
  /// Fixed-point formats of programs that write text; snapshots depend on them.
  static const char* fixed_formats(const Device& device) noexcept {
    const bool f16 = device.kernels.fixed_f16 && !device.fixed_f16_of_encoders;
    if (device.kernels.fixed_bf16)
      return f16 ? ", f16 and bf16 in fixed point" : ", bf16 in fixed point";
    return f16 ? ", f16 in fixed point" : "";
  }
};

}  // namespace
}  // namespace tenon::cpu

extern "C" const tenon_backend_api* tenon_cpu_backend_entry(uint32_t host_major, uint32_t) {
  return tenon::backends::entry_of<tenon::cpu::Cpu>(host_major);
}
