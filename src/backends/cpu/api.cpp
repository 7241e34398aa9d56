#include "backends/cpu/api.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "backends/cpu/device.h"
#include "backends/cpu/executable.h"

/// The opaque type of the plugin ABI.
struct tenon_executable {
  const tenon_host* host;
  tenon::cpu::Executable executable;
};

namespace tenon::cpu {
namespace {

tenon_status report(const tenon_host* host, tenon_status status, const std::string& text) {
  const std::string message = "cpu backend: " + text;
  host->set_error(host->user, message.data(), message.size());
  return status;
}

/// Runs f and turns what it throws into a status: nothing leaves the backend but that.
template <typename F>
tenon_status fence(const tenon_host* host, const char* what, F f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    static constexpr char kText[] = "cpu backend: out of memory";
    host->set_error(host->user, kText, sizeof(kText) - 1);
    return TENON_BACKEND_NO_MEMORY;
  } catch (...) {
    host->set_error(host->user, what, std::strlen(what));
    return TENON_BACKEND_INTERNAL;
  }
}

tenon_status create_device(const tenon_host* host, const tenon_backend_option* options,
                           uint32_t num_options, tenon_device** device) {
  return fence(host, "cpu backend: create_device failed", [&]() -> tenon_status {
    std::string isa, bf16_activations = "fixed";
    for (uint32_t i = 0; i < num_options; ++i) {
      const std::string key = options[i].key;
      if (key == "isa") {
        isa = options[i].value;
      } else if (key == "bf16_activations") {
        bf16_activations = options[i].value;
      } else {
        return report(host, TENON_BACKEND_ARGUMENT,
                      "unknown option \"" + key + "\"; known: isa, bf16_activations");
      }
    }
    if (bf16_activations != "fixed" && bf16_activations != "f32") {
      return report(
          host, TENON_BACKEND_ARGUMENT,
          "option \"bf16_activations\" is \"" + bf16_activations + "\"; it can be fixed or f32");
    }
    const Kernels* kernels = choose_kernels(isa);
    if (kernels == nullptr) {
      return report(host, TENON_BACKEND_ARGUMENT,
                    "option \"isa\": no kernels \"" + isa +
                        "\" on this machine; available: " + available_kernels());
    }
    *device = new tenon_device{host, *kernels};
    if (bf16_activations == "f32") (*device)->kernels.fixed_point = false;
    return TENON_BACKEND_OK;
  });
}

void destroy_device(tenon_device* device) { delete device; }

void copy_text(char* to, size_t size, const std::string& text) {
  const size_t length = std::min(size - 1, text.size());
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

tenon_status describe(tenon_device* device, tenon_device_info* info) {
  return fence(device->host, "cpu backend: describe failed", [&] {
    tenon_device_info full{};
    full.struct_size = std::min<uint32_t>(info->struct_size, sizeof(full));
    copy_text(full.name, sizeof(full.name), "cpu");
    // All that the bits of a result depend on: snapshots hold this text.
    copy_text(full.description, sizeof(full.description),
              processor_name() + ", " + device->kernels.name + " kernels" +
                  (device->kernels.fixed_point ? ", bf16 in fixed point" : ""));
    std::memcpy(info, &full, full.struct_size);
    return TENON_BACKEND_OK;
  });
}

int32_t supports(tenon_device*, const tenon_program* program, uint32_t op) {
  if (op >= program->num_ops) return 0;
  const auto* bytes = reinterpret_cast<const uint8_t*>(program->ops);
  tenon_op known{};
  std::memcpy(&known, bytes + static_cast<uint64_t>(program->op_size) * op,
              std::min<size_t>(program->op_size, sizeof(known)));
  return supports_op(*program, known) ? 1 : 0;
}

tenon_status buffer_create(tenon_device* device, uint64_t size, uint32_t purpose,
                           tenon_buffer** buffer) {
  return fence(device->host, "cpu backend: buffer_create failed", [&] {
    *buffer = new tenon_buffer{device->host, HostMemory(*device->host, size, purpose)};
    return TENON_BACKEND_OK;
  });
}

void buffer_destroy(tenon_buffer* buffer) { delete buffer; }

/// OK, or ARGUMENT when the buffer has no bytes [offset, offset + size).
tenon_status check_range(const tenon_buffer* buffer, uint64_t offset, uint64_t size) {
  const uint64_t total = buffer->memory.size_bytes();
  if (offset <= total && size <= total - offset) return TENON_BACKEND_OK;
  return fence(buffer->host, "cpu backend: outside the buffer", [&] {
    return report(buffer->host, TENON_BACKEND_ARGUMENT,
                  std::to_string(size) + " bytes at " + std::to_string(offset) +
                      " of a buffer of " + std::to_string(total));
  });
}

tenon_status buffer_read(tenon_buffer* buffer, uint64_t offset, void* out, uint64_t size) {
  const tenon_status status = check_range(buffer, offset, size);
  if (status == TENON_BACKEND_OK && size > 0) {
    std::memcpy(out, buffer_data(buffer) + offset, size);
  }
  return status;
}

tenon_status buffer_write(tenon_buffer* buffer, uint64_t offset, const void* in, uint64_t size) {
  const tenon_status status = check_range(buffer, offset, size);
  if (status == TENON_BACKEND_OK && size > 0) {
    std::memcpy(buffer_data(buffer) + offset, in, size);
  }
  return status;
}

tenon_status buffer_copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                         uint64_t from_offset, uint64_t size) {
  tenon_status status = check_range(to, to_offset, size);
  if (status == TENON_BACKEND_OK) status = check_range(from, from_offset, size);
  if (status == TENON_BACKEND_OK && size > 0) {
    std::memmove(buffer_data(to) + to_offset, buffer_data(from) + from_offset, size);
  }
  return status;
}

tenon_status compile(tenon_device* device, const tenon_program* program,
                     tenon_executable** executable) {
  return fence(device->host, "cpu backend: compile failed", [&]() -> tenon_status {
    for (uint32_t i = 0; i < program->num_ops; ++i) {
      if (supports(device, program, i) == 0) {
        return report(device->host, TENON_BACKEND_UNSUPPORTED,
                      "operation " + std::to_string(i) + " is not supported");
      }
    }
    *executable = new tenon_executable{device->host, {*device->host, device->kernels, *program}};
    return TENON_BACKEND_OK;
  });
}

void destroy_executable(tenon_executable* executable) { delete executable; }

uint64_t kv_block_bytes(const tenon_executable* executable, uint32_t group) {
  return executable->executable.kv_block_bytes(group);
}

uint64_t row_granularity(const tenon_executable* executable, uint32_t slot) {
  return executable->executable.row_granularity(slot);
}

tenon_status load_rows(tenon_executable* executable, uint32_t slot, uint64_t first_row,
                       uint64_t num_rows, const void* blocks, uint64_t size_bytes) {
  return fence(executable->host, "cpu backend: load_rows failed", [&]() -> tenon_status {
    const RowsToLoad rows{slot, first_row, num_rows, static_cast<const uint8_t*>(blocks),
                          size_bytes};
    if (const char* problem = executable->executable.check_rows(rows); problem != nullptr) {
      return report(executable->host, TENON_BACKEND_ARGUMENT, std::string("load_rows: ") + problem);
    }
    executable->executable.load_rows(rows);
    return TENON_BACKEND_OK;
  });
}

tenon_status seal(tenon_executable* executable) {
  executable->executable.seal();
  return TENON_BACKEND_OK;
}

tenon_status run(tenon_executable* executable, const tenon_step* step, uint64_t* ticket) {
  return fence(executable->host, "cpu backend: run failed", [&]() -> tenon_status {
    if (!executable->executable.sealed()) {
      return report(executable->host, TENON_BACKEND_STATE, "run: the executable is not sealed");
    }
    if (const char* problem = executable->executable.check_step(*step); problem != nullptr) {
      return report(executable->host, TENON_BACKEND_ARGUMENT, std::string("run: ") + problem);
    }
    const int32_t stopped = executable->executable.run(*step);
    if (stopped == TENON_BACKEND_CANCELLED) {
      return report(executable->host, TENON_BACKEND_CANCELLED, "the step was cancelled");
    }
    if (stopped != 0) {
      return report(executable->host, TENON_BACKEND_INTERNAL, "the host did not run the step");
    }
    *ticket = 0;
    return TENON_BACKEND_OK;
  });
}

tenon_status wait(tenon_executable*, uint64_t) { return TENON_BACKEND_OK; }  // run does it all

uint64_t memory_bytes(const tenon_executable* executable, uint32_t purpose) {
  return executable->executable.memory_bytes(purpose);
}

constexpr tenon_backend_api kApi = {
    TENON_BACKEND_MAGIC,
    TENON_BACKEND_MAJOR,
    TENON_BACKEND_MINOR,
    sizeof(tenon_backend_api),
    "cpu",
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
}  // namespace tenon::cpu

extern "C" const tenon_backend_api* tenon_cpu_backend_entry(uint32_t host_major, uint32_t) {
  return host_major == TENON_BACKEND_MAJOR ? &tenon::cpu::kApi : nullptr;
}
