// Lists a GPU that another backend lists as well.
#include "tests/backend/plugins/listed_devices.h"

namespace {
constexpr tenon::ListedDevice kDevices[] = {{TENON_DEVICE_GPU, "gpu 1", ""}};
constexpr tenon_backend_api kApi = [] {
  tenon_backend_api api = tenon::stub_table();
  api.name = "gpus-again";
  api.list_devices = [](const tenon_host*, tenon_device_info* infos, uint32_t info_size,
                        uint32_t capacity, uint32_t* count) {
    return tenon::list_these(kDevices, infos, info_size, capacity, count);
  };
  return api;
}();
}  // namespace

TENON_TEST_ENTRY(uint32_t, uint32_t) { return &kApi; }
