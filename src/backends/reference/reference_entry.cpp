#include "backends/reference/reference_entry.h"

#include <memory>
#include <utility>

#include "backends/common/device_text.h"
#include "backends/common/failure.h"
#include "backends/common/host_buffer.h"
#include "backends/reference/reference_executable.h"
#include "backends/reference/reference_ops.h"

namespace tenon::reference {
namespace {

constexpr char kName[] = "reference";

struct Device {
  const tenon_host* host;
};

// The ABI's types are names only: several backends may live in one process, so none defines them.
Device* of(tenon_device* device) { return reinterpret_cast<Device*>(device); }
Executable* of(tenon_executable* executable) { return reinterpret_cast<Executable*>(executable); }
const Executable* of(const tenon_executable* executable) {
  return reinterpret_cast<const Executable*>(executable);
}

template <typename Body>
tenon_status fence(const tenon_host* host, Body&& body) noexcept {
  return backends::fence(host, kName, std::forward<Body>(body));
}

tenon_device_info device_info() noexcept {
  tenon_device_info info{};
  info.kind = TENON_DEVICE_REFERENCE;
  backends::copy_text(info.name, kName);
  backends::copy_text(info.description, "every operation in double precision, for comparison");
  info.flags = TENON_DEVICE_BATCH_INVARIANT;
  info.precision_float = info.precision_bf16 = info.precision_blocks = TENON_PRECISION_F32;
  info.step_tokens = info.step_outputs = 256;
  info.token_multiple = 1;
  info.block_tokens = 32;
  info.slab_bytes = uint64_t{8} << 20;
  info.steps_under_way = 1;
  return info;
}

tenon_status list_devices(const tenon_host* host, tenon_device_info* infos, uint32_t info_size,
                          uint32_t capacity, uint32_t* count) noexcept {
  if (host == nullptr || count == nullptr || (infos == nullptr && capacity > 0)) {
    return TENON_BACKEND_ARGUMENT;
  }
  if (capacity > 0) backends::write_info(device_info(), infos, info_size);
  *count = 1;
  return TENON_BACKEND_OK;
}

void list_options(tenon_backend_option_info*, uint32_t, uint32_t, uint32_t* count) noexcept {
  if (count != nullptr) *count = 0;
}

tenon_status create_device(const tenon_host* host, uint32_t index,
                           const tenon_backend_option* options, uint32_t num_options,
                           tenon_device** device) noexcept {
  if (host == nullptr || host->struct_size < sizeof(tenon_host) || device == nullptr) {
    return TENON_BACKEND_ARGUMENT;
  }
  return fence(host, [&] {
    if (index != 0) backends::refuse(TENON_BACKEND_ARGUMENT, "there is no device {}", index);
    if (num_options > 0) {
      const bool named = options != nullptr && options[0].key != nullptr;
      backends::refuse(TENON_BACKEND_ARGUMENT, "unknown option \"{}\"; it has none",
                       named ? options[0].key : "");
    }
    *device = reinterpret_cast<tenon_device*>(new Device{host});
  });
}

void destroy_device(tenon_device* device) noexcept { delete of(device); }

tenon_status describe(tenon_device* device, tenon_device_info* info) noexcept {
  if (device == nullptr || info == nullptr) return TENON_BACKEND_ARGUMENT;
  backends::write_info(device_info(), info, info->struct_size);
  return TENON_BACKEND_OK;
}

int32_t supports(tenon_device*, const tenon_program* program, uint32_t op) noexcept {
  if (program == nullptr) return 0;
  const auto shape = find_shape(*program, op);
  return shape && fits(*shape) ? 1 : 0;
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
  const tenon_host* host = of(device)->host;
  return fence(host, [&] {
    *executable =
        reinterpret_cast<tenon_executable*>(std::make_unique<Executable>(host, *program).release());
  });
}

void destroy_executable(tenon_executable* executable) noexcept { delete of(executable); }

uint64_t block_bytes(const tenon_executable* executable, uint32_t group) noexcept {
  if (executable == nullptr || group >= of(executable)->program().num_groups) return 0;
  return of(executable)->block_bytes(group);
}

uint64_t row_granularity(const tenon_executable*, uint32_t) noexcept { return 1; }

tenon_status load_rows(tenon_executable* executable, uint32_t slot, uint64_t first_row,
                       uint64_t num_rows, const void* blocks, uint64_t size_bytes) noexcept {
  if (executable == nullptr) return TENON_BACKEND_ARGUMENT;
  return fence(of(executable)->host(),
               [&] { of(executable)->load_rows(slot, first_row, num_rows, blocks, size_bytes); });
}

tenon_status seal(tenon_executable* executable) noexcept {
  if (executable == nullptr) return TENON_BACKEND_ARGUMENT;
  return fence(of(executable)->host(), [&] { of(executable)->seal(); });
}

tenon_status run(tenon_executable* executable, const tenon_step* step, uint64_t* ticket) noexcept {
  if (executable == nullptr || step == nullptr || ticket == nullptr ||
      step->struct_size < sizeof(tenon_step)) {
    return TENON_BACKEND_ARGUMENT;
  }
  return fence(of(executable)->host(), [&] { *ticket = of(executable)->run(*step); });
}

tenon_status wait(tenon_executable* executable, uint64_t ticket) noexcept {
  if (executable == nullptr) return TENON_BACKEND_ARGUMENT;
  return fence(of(executable)->host(), [&] { of(executable)->wait(ticket); });
}

uint64_t memory_bytes(const tenon_executable* executable, uint32_t purpose) noexcept {
  return executable == nullptr ? 0 : of(executable)->memory_bytes(purpose);
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
}  // namespace tenon::reference

const tenon_backend_api* tenon_reference_backend_entry(uint32_t host_major, uint32_t) {
  return host_major == TENON_BACKEND_MAJOR ? &tenon::reference::kApi : nullptr;
}
