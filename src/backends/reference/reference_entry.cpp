#include "backends/reference/reference_entry.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include "backends/reference/reference_executable.h"
#include "backends/reference/reference_failure.h"
#include "backends/reference/reference_ops.h"

namespace tenon::reference {
namespace {

struct Device {
  const tenon_host* host;
};

// The ABI's types are names only: several backends may live in one process, so none defines them.
Device* of(tenon_device* device) { return reinterpret_cast<Device*>(device); }
DeviceBuffer* of(tenon_buffer* buffer) { return reinterpret_cast<DeviceBuffer*>(buffer); }
const DeviceBuffer* of(const tenon_buffer* buffer) {
  return reinterpret_cast<const DeviceBuffer*>(buffer);
}
Executable* of(tenon_executable* executable) { return reinterpret_cast<Executable*>(executable); }
const Executable* of(const tenon_executable* executable) {
  return reinterpret_cast<const Executable*>(executable);
}

tenon_status create_device(const tenon_host* host, const tenon_backend_option* options,
                           uint32_t num_options, tenon_device** device) noexcept {
  if (host == nullptr || host->struct_size < sizeof(tenon_host) || device == nullptr) {
    return TENON_BACKEND_ARGUMENT;
  }
  return fence(host, [&] {
    if (num_options > 0) {
      const bool named = options != nullptr && options[0].key != nullptr;
      refuse(TENON_BACKEND_ARGUMENT, "reference: unknown option \"{}\"; it has none",
             named ? options[0].key : "");
    }
    *device = reinterpret_cast<tenon_device*>(new Device{host});
  });
}

void destroy_device(tenon_device* device) noexcept { delete of(device); }

tenon_status describe(tenon_device* device, tenon_device_info* info) noexcept {
  constexpr char kName[] = "reference";
  constexpr char kDescription[] = "every operation in double precision, for comparison";
  if (device == nullptr || info == nullptr) return TENON_BACKEND_ARGUMENT;
  tenon_device_info mine{};
  mine.struct_size = std::min<uint32_t>(info->struct_size, sizeof(mine));
  std::memcpy(mine.name, kName, sizeof(kName));
  std::memcpy(mine.description, kDescription, sizeof(kDescription));
  std::memcpy(info, &mine, mine.struct_size);
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
  return fence(host, [&] {
    auto made = std::make_unique<DeviceBuffer>();
    made->host = host;
    made->memory = HostMemory(host, size, purpose, "a buffer");
    *buffer = reinterpret_cast<tenon_buffer*>(made.release());
  });
}

void buffer_destroy(tenon_buffer* buffer) noexcept { delete of(buffer); }

/// The bytes [offset, offset + size) of a buffer; ARGUMENT when it has no such bytes.
std::byte* range(const DeviceBuffer& buffer, uint64_t offset, uint64_t size) {
  const uint64_t total = buffer.memory.size();
  if (offset > total || size > total - offset) {
    refuse(TENON_BACKEND_ARGUMENT, "reference: {} bytes at {} of a buffer of {}", size, offset,
           total);
  }
  return buffer.memory.data() + offset;
}

tenon_status buffer_read(tenon_buffer* buffer, uint64_t offset, void* out, uint64_t size) noexcept {
  if (buffer == nullptr || (out == nullptr && size > 0)) return TENON_BACKEND_ARGUMENT;
  return fence(of(buffer)->host, [&] {
    const std::byte* from = range(*of(buffer), offset, size);
    if (size > 0) std::memcpy(out, from, size);
  });
}

tenon_status buffer_write(tenon_buffer* buffer, uint64_t offset, const void* in,
                          uint64_t size) noexcept {
  if (buffer == nullptr || (in == nullptr && size > 0)) return TENON_BACKEND_ARGUMENT;
  return fence(of(buffer)->host, [&] {
    std::byte* to = range(*of(buffer), offset, size);
    if (size > 0) std::memcpy(to, in, size);
  });
}

tenon_status buffer_copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                         uint64_t from_offset, uint64_t size) noexcept {
  if (to == nullptr || from == nullptr) return TENON_BACKEND_ARGUMENT;
  return fence(of(to)->host, [&] {
    std::byte* target = range(*of(to), to_offset, size);
    const std::byte* source = range(*of(from), from_offset, size);
    if (size > 0) std::memmove(target, source, size);
  });
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

uint64_t kv_block_bytes(const tenon_executable* executable, uint32_t group) noexcept {
  if (executable == nullptr || group >= of(executable)->program().num_groups) return 0;
  return of(executable)->kv_block_bytes(group);
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
    "reference",
    create_device,
    destroy_device,
    describe,
    supports,
    buffer_create,
    buffer_destroy,
    buffer_read,
    buffer_write,
    buffer_copy,
    compile,
    destroy_executable,
    kv_block_bytes,
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
