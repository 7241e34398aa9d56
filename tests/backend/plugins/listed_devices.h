// Backend that lists devices but creates none, for tests of the choice of a backend.
#pragma once

#include <cstring>

#include "tests/backend/plugins/stub_table.h"

namespace tenon {

struct ListedDevice {
  uint32_t kind;
  const char* name;
  const char* unavailable;  ///< "": usable
};

/// As tenon_backend_api::list_devices.
template <uint32_t kCount>
tenon_status list_these(const ListedDevice (&devices)[kCount], tenon_device_info* infos,
                        uint32_t info_size, uint32_t capacity, uint32_t* count) {
  *count = kCount;
  for (uint32_t i = 0; i < kCount && i < capacity; ++i) {
    tenon_device_info info{};
    info.struct_size = info_size;
    info.kind = devices[i].kind;
    std::strncpy(info.name, devices[i].name, sizeof info.name - 1);
    std::strncpy(info.description, "listed by a test", sizeof info.description - 1);
    std::strncpy(info.unavailable, devices[i].unavailable, sizeof info.unavailable - 1);
    info.step_tokens = info.step_outputs = info.token_multiple = info.block_tokens = 1;
    info.slab_bytes = 1 << 20;
    info.steps_under_way = 1;
    const size_t bytes = info_size < sizeof info ? info_size : sizeof info;
    std::memcpy(reinterpret_cast<char*>(infos) + size_t{i} * info_size, &info, bytes);
  }
  return TENON_BACKEND_OK;
}

}  // namespace tenon
