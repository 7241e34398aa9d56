#include "backends/delayed/delayed_entry.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "abi/failure.h"
#include "backends/common/device_text.h"
#include "backends/delayed/delayed_objects.h"

namespace tenon::delayed {
namespace {

constexpr char kName[] = "delayed";

constexpr tenon_backend_option_info kOptions[] = {
    {"step_us", "microseconds, 0 to 10000000", "0", "The least time that a step takes."},
    {"draw_us", "microseconds, 0 to 10000000", "0", "The least time that a draw takes."},
    {"steps", "1 to 64", "2", "Steps that may be under way."},
    {"step_tokens", "1 to 65536", "256", "Tokens of a step that it says it prefers."},
    {"block_tokens", "1 to 4096", "32", "Positions of a cache block that it says it prefers."},
    {"fail_step", "a number", "0", "The step of a program that fails; 0: none."},
    {"fail_draw", "a number", "0", "The draw of a program that fails; 0: none."},
};

Device* of(tenon_device* device) { return reinterpret_cast<Device*>(device); }
Buffer* of(tenon_buffer* buffer) { return reinterpret_cast<Buffer*>(buffer); }
const Buffer* of(const tenon_buffer* buffer) { return reinterpret_cast<const Buffer*>(buffer); }
Executable* of(tenon_executable* executable) { return reinterpret_cast<Executable*>(executable); }
const Executable* of(const tenon_executable* executable) {
  return reinterpret_cast<const Executable*>(executable);
}

template <typename Body>
tenon_status fenced(const tenon_host* host, Body&& body) noexcept {
  return backends::fence(host, kName, std::forward<Body>(body));
}

/// Writes the inner device's info with this backend's differences, as far as the host's structure
/// reaches.
void write_info(tenon_device_info info, const Settings& settings, tenon_device_info* to,
                uint32_t size) {
  backends::copy_text(info.name, kName);
  info.flags |= TENON_DEVICE_DRAWS;
  info.steps_under_way = settings.steps_under_way;
  info.step_tokens = settings.step_tokens;
  info.block_tokens = settings.block_tokens;
  info.struct_size = std::min<uint32_t>(size, sizeof(info));
  std::memcpy(to, &info, info.struct_size);
}

tenon_status list_devices(const tenon_host* host, tenon_device_info* infos, uint32_t info_size,
                          uint32_t capacity, uint32_t* count) noexcept {
  if (infos == nullptr && capacity > 0) return TENON_BACKEND_ARGUMENT;
  tenon_device_info info{};
  const tenon_status status = inner_api().list_devices(host, &info, sizeof(info), 1, count);
  if (status == TENON_BACKEND_OK && capacity > 0) write_info(info, Settings(), infos, info_size);
  return status;
}

void list_options(tenon_backend_option_info* infos, uint32_t info_size, uint32_t capacity,
                  uint32_t* count) noexcept {
  if (count == nullptr || (infos == nullptr && capacity > 0)) return;
  *count = static_cast<uint32_t>(std::size(kOptions));
  auto* to = reinterpret_cast<std::byte*>(infos);
  for (uint32_t i = 0; i < std::min(capacity, *count); ++i) {
    std::memcpy(to + uint64_t{i} * info_size, &kOptions[i],
                std::min<size_t>(info_size, sizeof(kOptions[i])));
  }
}

tenon_status create_device(const tenon_host* host, uint32_t index,
                           const tenon_backend_option* options, uint32_t num_options,
                           tenon_device** device) noexcept {
  if (host == nullptr || device == nullptr || (options == nullptr && num_options > 0)) {
    return TENON_BACKEND_ARGUMENT;
  }
  return fenced(host, [&] {
    if (index != 0) backends::refuse(TENON_BACKEND_ARGUMENT, "there is no device {}", index);
    Settings settings;
    for (uint32_t i = 0; i < num_options; ++i) {
      if (options[i].key == nullptr || options[i].value == nullptr) {
        backends::refuse(TENON_BACKEND_ARGUMENT, "option {} lacks its key or its value", i);
      }
      settings.set(options[i].key, options[i].value);
    }
    *device = reinterpret_cast<tenon_device*>(std::make_unique<Device>(host, settings).release());
  });
}

void destroy_device(tenon_device* device) noexcept { delete of(device); }

tenon_status describe(tenon_device* device, tenon_device_info* info) noexcept {
  if (device == nullptr || info == nullptr) return TENON_BACKEND_ARGUMENT;
  tenon_device_info known{};
  known.struct_size = sizeof(known);
  const tenon_status status = inner_api().describe(of(device)->inner(), &known);
  if (status == TENON_BACKEND_OK)
    write_info(known, of(device)->settings(), info, info->struct_size);
  return status;
}

int32_t supports(tenon_device* device, const tenon_program* program, uint32_t op) noexcept {
  return device == nullptr ? 0 : inner_api().supports(of(device)->inner(), program, op);
}

// ---- Buffers: each use follows the jobs before it -----------------------------------------------

tenon_status buffer_create(tenon_device* device, uint64_t size, uint32_t purpose,
                           tenon_buffer** buffer) noexcept {
  if (device == nullptr || buffer == nullptr) return TENON_BACKEND_ARGUMENT;
  return fenced(of(device)->host(), [&] {
    auto made = std::make_unique<Buffer>(Buffer{of(device), nullptr});
    check_inner(inner_api().buffer_create(of(device)->inner(), size, purpose, &made->inner));
    *buffer = reinterpret_cast<tenon_buffer*>(made.release());
  });
}

void buffer_destroy(tenon_buffer* buffer) noexcept {
  if (buffer == nullptr) return;
  of(buffer)->device->queue().drain();
  inner_api().buffer_destroy(of(buffer)->inner);
  delete of(buffer);
}

tenon_status buffer_read(tenon_buffer* buffer, uint64_t offset, void* out, uint64_t size) noexcept {
  if (buffer == nullptr) return TENON_BACKEND_ARGUMENT;
  of(buffer)->device->queue().drain();
  return inner_api().buffer_read(of(buffer)->inner, offset, out, size);
}

tenon_status buffer_write(tenon_buffer* buffer, uint64_t offset, const void* in,
                          uint64_t size) noexcept {
  if (buffer == nullptr) return TENON_BACKEND_ARGUMENT;
  of(buffer)->device->queue().drain();
  return inner_api().buffer_write(of(buffer)->inner, offset, in, size);
}

tenon_status buffer_copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                         uint64_t from_offset, uint64_t size) noexcept {
  if (to == nullptr || from == nullptr) return TENON_BACKEND_ARGUMENT;
  of(to)->device->queue().drain();
  return inner_api().buffer_copy(of(to)->inner, to_offset, of(from)->inner, from_offset, size);
}

// ---- Executables --------------------------------------------------------------------------------

tenon_status compile(tenon_device* device, const tenon_program* program,
                     tenon_executable** executable) noexcept {
  if (device == nullptr || program == nullptr || executable == nullptr ||
      program->struct_size < kFirstProgramBytes) {
    return TENON_BACKEND_ARGUMENT;
  }
  return fenced(of(device)->host(), [&] {
    *executable = reinterpret_cast<tenon_executable*>(
        std::make_unique<Executable>(*of(device), known_part(*program)).release());
  });
}

void destroy_executable(tenon_executable* executable) noexcept { delete of(executable); }

uint64_t block_bytes(const tenon_executable* executable, uint32_t group) noexcept {
  return executable == nullptr ? 0 : inner_api().block_bytes(of(executable)->inner(), group);
}

uint64_t row_granularity(const tenon_executable* executable, uint32_t slot) noexcept {
  return executable == nullptr ? 0 : inner_api().row_granularity(of(executable)->inner(), slot);
}

tenon_status load_rows(tenon_executable* executable, uint32_t slot, uint64_t first_row,
                       uint64_t num_rows, const void* blocks, uint64_t size_bytes) noexcept {
  if (executable == nullptr) return TENON_BACKEND_ARGUMENT;
  return inner_api().load_rows(of(executable)->inner(), slot, first_row, num_rows, blocks,
                               size_bytes);
}

tenon_status seal(tenon_executable* executable) noexcept {
  return executable == nullptr ? TENON_BACKEND_ARGUMENT : inner_api().seal(of(executable)->inner());
}

tenon_status run(tenon_executable* executable, const tenon_step* step, uint64_t* ticket) noexcept {
  if (executable == nullptr || step == nullptr || ticket == nullptr ||
      step->struct_size < kFirstStepBytes) {
    return TENON_BACKEND_ARGUMENT;
  }
  return fenced(of(executable)->device().host(),
                [&] { *ticket = of(executable)->run(known_part(*step)); });
}

tenon_status draw(tenon_executable* executable, uint64_t step, const tenon_draw* draws,
                  uint32_t num_draws, uint32_t draw_size, uint64_t* ticket) noexcept {
  if (executable == nullptr || ticket == nullptr) return TENON_BACKEND_ARGUMENT;
  return fenced(of(executable)->device().host(),
                [&] { *ticket = of(executable)->draw(step, draws, num_draws, draw_size); });
}

tenon_status wait(tenon_executable* executable, uint64_t ticket) noexcept {
  if (executable == nullptr) return TENON_BACKEND_ARGUMENT;
  return fenced(of(executable)->device().host(), [&] { of(executable)->wait(ticket); });
}

tenon_status poll(tenon_executable* executable, uint64_t ticket, uint32_t* ended) noexcept {
  if (executable == nullptr || ended == nullptr) return TENON_BACKEND_ARGUMENT;
  return fenced(of(executable)->device().host(),
                [&] { *ended = of(executable)->device().queue().has_ended(ticket) ? 1 : 0; });
}

uint64_t memory_bytes(const tenon_executable* executable, uint32_t purpose) noexcept {
  return executable == nullptr ? 0 : inner_api().memory_bytes(of(executable)->inner(), purpose);
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
    buffer_destroy,
    buffer_read,
    buffer_write,
    buffer_copy,
    compile,
    destroy_executable,
    block_bytes,
    row_granularity,
    load_rows,
    seal,
    run,
    wait,
    memory_bytes,
    draw,
    poll,
    nullptr,  // is_lost: the inner device never is
};

}  // namespace
}  // namespace tenon::delayed

const tenon_backend_api* tenon_delayed_backend_entry(uint32_t host_major, uint32_t) {
  return host_major == TENON_BACKEND_MAJOR ? &tenon::delayed::kApi : nullptr;
}
