#include "backends/cpu/api.h"

#include <string>
#include <string_view>
#include <utility>

#include "backends/common/device_text.h"
#include "backends/common/failure.h"
#include "backends/common/host_buffer.h"
#include "backends/common/strided.h"
#include "backends/cpu/device.h"
#include "backends/cpu/executable.h"

namespace tenon::cpu {
namespace {

using backends::refuse;

constexpr char kName[] = "cpu";

constexpr tenon_backend_option_info kOptions[] = {
    {"isa", "portable, avx2, avx2_vnni, avx512, neon or neon_i8mm", "",
     "The kernels to use; empty: the best that the processor can run."},
    {"bf16_activations", "fixed or f32", "fixed",
     "What bf16 weights are multiplied with: integers of 14 bits, or f32."},
};

// The ABI's types are names only: several backends may live in one process, so none defines them.
struct Executing {
  const tenon_host* host;
  Executable executable;
};
Device* of(tenon_device* device) { return reinterpret_cast<Device*>(device); }
Executing* of(tenon_executable* executable) { return reinterpret_cast<Executing*>(executable); }
const Executing* of(const tenon_executable* executable) {
  return reinterpret_cast<const Executing*>(executable);
}

template <typename Body>
tenon_status fence(const tenon_host* host, Body&& body) noexcept {
  return backends::fence(host, kName, std::forward<Body>(body));
}

tenon_device_info info_of(const Kernels& kernels) {
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

tenon_status list_devices(const tenon_host* host, tenon_device_info* infos, uint32_t info_size,
                          uint32_t capacity, uint32_t* count) noexcept {
  if (host == nullptr || count == nullptr || (infos == nullptr && capacity > 0)) {
    return TENON_BACKEND_ARGUMENT;
  }
  return fence(host, [&] {
    if (capacity > 0) backends::write_info(info_of(*choose_kernels("")), infos, info_size);
    *count = 1;
  });
}

void list_options(tenon_backend_option_info* infos, uint32_t info_size, uint32_t capacity,
                  uint32_t* count) noexcept {
  backends::write_options(kOptions, infos, info_size, capacity, count);
}

Kernels kernels_of(const tenon_backend_option* options, uint32_t num_options) {
  std::string isa;
  std::string bf16_activations = "fixed";
  for (uint32_t i = 0; i < num_options; ++i) {
    const std::string_view key = options[i].key;
    if (key == "isa") {
      isa = options[i].value;
    } else if (key == "bf16_activations") {
      bf16_activations = options[i].value;
    } else {
      refuse(TENON_BACKEND_ARGUMENT, "unknown option \"{}\"; known: isa, bf16_activations", key);
    }
  }
  if (bf16_activations != "fixed" && bf16_activations != "f32") {
    refuse(TENON_BACKEND_ARGUMENT,
           "option \"bf16_activations\" is \"{}\"; it can be fixed or f32", bf16_activations);
  }
  const Kernels* chosen = choose_kernels(isa);
  if (chosen == nullptr) {
    refuse(TENON_BACKEND_ARGUMENT, "option \"isa\": no kernels \"{}\" on this machine; available: {}",
           isa, available_kernels());
  }
  Kernels kernels = *chosen;
  if (bf16_activations == "f32") kernels.fixed_point = false;
  return kernels;
}

tenon_status create_device(const tenon_host* host, uint32_t index,
                           const tenon_backend_option* options, uint32_t num_options,
                           tenon_device** device) noexcept {
  if (host == nullptr || host->struct_size < sizeof(tenon_host) || device == nullptr ||
      (options == nullptr && num_options > 0)) {
    return TENON_BACKEND_ARGUMENT;
  }
  return fence(host, [&] {
    if (index != 0) refuse(TENON_BACKEND_ARGUMENT, "there is no device {}", index);
    *device = reinterpret_cast<tenon_device*>(new Device{host, kernels_of(options, num_options)});
  });
}

void destroy_device(tenon_device* device) noexcept { delete of(device); }

tenon_status describe(tenon_device* device, tenon_device_info* info) noexcept {
  if (device == nullptr || info == nullptr) return TENON_BACKEND_ARGUMENT;
  return fence(of(device)->host, [&] {
    backends::write_info(info_of(of(device)->kernels), info, info->struct_size);
  });
}

int32_t supports(tenon_device*, const tenon_program* program, uint32_t op) noexcept {
  if (program == nullptr || op >= program->num_ops) return 0;
  return supports_op(*program, ops_of(*program)[op]) ? 1 : 0;
}

tenon_status buffer_create(tenon_device* device, uint64_t size, uint32_t purpose,
                           tenon_buffer** buffer) noexcept {
  if (device == nullptr || buffer == nullptr) return TENON_BACKEND_ARGUMENT;
  const tenon_host* host = of(device)->host;
  return fence(host,
               [&] { *buffer = backends::make_host_buffer(host, kName, size, purpose); });
}

tenon_status compile(tenon_device* device, const tenon_program* program,
                     tenon_executable** executable) noexcept {
  if (device == nullptr || program == nullptr || executable == nullptr ||
      program->struct_size < sizeof(tenon_program)) {
    return TENON_BACKEND_ARGUMENT;
  }
  const Device& on = *of(device);
  return fence(on.host, [&] {
    for (uint32_t i = 0; i < program->num_ops; ++i) {
      if (supports_op(*program, ops_of(*program)[i])) continue;
      refuse(TENON_BACKEND_UNSUPPORTED, "operation {} is not supported", i);
    }
    *executable = reinterpret_cast<tenon_executable*>(
        new Executing{on.host, {*on.host, on.kernels, *program}});
  });
}

void destroy_executable(tenon_executable* executable) noexcept { delete of(executable); }

uint64_t block_bytes(const tenon_executable* executable, uint32_t group) noexcept {
  return of(executable)->executable.block_bytes(group);
}

uint64_t row_granularity(const tenon_executable* executable, uint32_t slot) noexcept {
  return of(executable)->executable.row_granularity(slot);
}

tenon_status load_rows(tenon_executable* executable, uint32_t slot, uint64_t first_row,
                       uint64_t num_rows, const void* blocks, uint64_t size_bytes) noexcept {
  return fence(of(executable)->host, [&] {
    const RowsToLoad rows{slot, first_row, num_rows, static_cast<const uint8_t*>(blocks),
                          size_bytes};
    of(executable)->executable.check_rows(rows);
    of(executable)->executable.load_rows(rows);
  });
}

tenon_status seal(tenon_executable* executable) noexcept {
  of(executable)->executable.seal();
  return TENON_BACKEND_OK;
}

tenon_status run(tenon_executable* executable, const tenon_step* step, uint64_t* ticket) noexcept {
  if (executable == nullptr || step == nullptr || ticket == nullptr ||
      step->struct_size < sizeof(tenon_step)) {
    return TENON_BACKEND_ARGUMENT;
  }
  return fence(of(executable)->host, [&] { *ticket = of(executable)->executable.run(*step); });
}

tenon_status wait(tenon_executable* executable, uint64_t ticket) noexcept {
  return fence(of(executable)->host, [&] { of(executable)->executable.wait(ticket); });
}

uint64_t memory_bytes(const tenon_executable* executable, uint32_t purpose) noexcept {
  return of(executable)->executable.memory_bytes(purpose);
}

constexpr tenon_backend_api kApi = {
    TENON_BACKEND_MAGIC,
    TENON_BACKEND_MAJOR,
    TENON_BACKEND_MINOR,
    sizeof(tenon_backend_api),
    kName,
    list_devices,
    list_options,
    create_device,
    destroy_device,
    describe,
    supports,
    buffer_create,
    backends::host_buffer_destroy,
    backends::host_buffer_read,
    backends::host_buffer_write,
    backends::host_buffer_copy,
    compile,
    destroy_executable,
    block_bytes,
    row_granularity,
    load_rows,
    seal,
    run,
    wait,
    memory_bytes,
};

}  // namespace
}  // namespace tenon::cpu

extern "C" const tenon_backend_api* tenon_cpu_backend_entry(uint32_t host_major, uint32_t) {
  return host_major == TENON_BACKEND_MAJOR ? &tenon::cpu::kApi : nullptr;
}
