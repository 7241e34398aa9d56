// Reports success of create_device without a device.
#include "tests/backend/plugins/stub_table.h"

namespace {
constexpr tenon_backend_api kApi = [] {
  tenon_backend_api api = tenon::stub_table();
  api.create_device = [](const tenon_host*, uint32_t, const tenon_backend_option*, uint32_t,
                         tenon_device**) { return tenon_status{TENON_BACKEND_OK}; };
  return api;
}();
}  // namespace

TENON_TEST_ENTRY(uint32_t, uint32_t) { return &kApi; }
