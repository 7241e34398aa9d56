// Throws from a function that must not.
#include <stdexcept>

#include "tests/backend/plugins/stub_table.h"

namespace {

tenon_status create_device(const tenon_host*, uint32_t, const tenon_backend_option*, uint32_t,
                           tenon_device**) {
  throw std::runtime_error("no");
}

constexpr tenon_backend_api kApi = [] {
  tenon_backend_api api = tenon::stub_table();
  api.create_device = create_device;
  return api;
}();
}  // namespace

TENON_TEST_ENTRY(uint32_t, uint32_t) { return &kApi; }
