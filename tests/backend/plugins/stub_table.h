// A complete table of a backend without devices, for plugins that break one rule.
#pragma once

#include "tenon/backend.h"

namespace tenon {

constexpr tenon_backend_api stub_table() {
  tenon_backend_api api{};
  api.magic = TENON_BACKEND_MAGIC;
  api.major = TENON_BACKEND_MAJOR;
  api.minor = TENON_BACKEND_MINOR;
  api.struct_size = sizeof(api);
  api.name = "stub";
  api.list_devices = [](const tenon_host*, tenon_device_info*, uint32_t, uint32_t, uint32_t*) {
    return tenon_status{TENON_BACKEND_UNSUPPORTED};
  };
  api.list_options = [](tenon_backend_option_info*, uint32_t, uint32_t, uint32_t* count) {
    *count = 0;
  };
  api.create_device = [](const tenon_host*, uint32_t, const tenon_backend_option*, uint32_t,
                         tenon_device**) { return tenon_status{TENON_BACKEND_UNSUPPORTED}; };
  api.destroy_device = [](tenon_device*) {};
  api.describe = [](tenon_device*, tenon_device_info*) {
    return tenon_status{TENON_BACKEND_UNSUPPORTED};
  };
  api.supports = [](tenon_device*, const tenon_program*, uint32_t) { return int32_t{0}; };
  api.buffer_create = [](tenon_device*, uint64_t, uint32_t, tenon_buffer**) {
    return tenon_status{TENON_BACKEND_UNSUPPORTED};
  };
  api.buffer_destroy = [](tenon_buffer*) {};
  api.buffer_read = [](tenon_buffer*, uint64_t, void*, uint64_t) {
    return tenon_status{TENON_BACKEND_UNSUPPORTED};
  };
  api.buffer_write = [](tenon_buffer*, uint64_t, const void*, uint64_t) {
    return tenon_status{TENON_BACKEND_UNSUPPORTED};
  };
  api.buffer_copy = [](tenon_buffer*, uint64_t, const tenon_buffer*, uint64_t, uint64_t) {
    return tenon_status{TENON_BACKEND_UNSUPPORTED};
  };
  api.compile = [](tenon_device*, const tenon_program*, tenon_executable**) {
    return tenon_status{TENON_BACKEND_UNSUPPORTED};
  };
  api.destroy_executable = [](tenon_executable*) {};
  api.block_bytes = [](const tenon_executable*, uint32_t) { return uint64_t{0}; };
  api.row_granularity = [](const tenon_executable*, uint32_t) { return uint64_t{1}; };
  api.load_rows = [](tenon_executable*, uint32_t, uint64_t, uint64_t, const void*, uint64_t) {
    return tenon_status{TENON_BACKEND_UNSUPPORTED};
  };
  api.seal = [](tenon_executable*) { return tenon_status{TENON_BACKEND_UNSUPPORTED}; };
  api.run = [](tenon_executable*, const tenon_step*, uint64_t*) {
    return tenon_status{TENON_BACKEND_UNSUPPORTED};
  };
  api.wait = [](tenon_executable*, uint64_t) { return tenon_status{TENON_BACKEND_UNSUPPORTED}; };
  api.memory_bytes = [](const tenon_executable*, uint32_t) { return uint64_t{0}; };
  return api;
}

}  // namespace tenon

/// Declares the single exported symbol of a plugin.
#define TENON_TEST_ENTRY \
  extern "C" __attribute__((visibility("default"))) const tenon_backend_api* tenon_backend_entry
