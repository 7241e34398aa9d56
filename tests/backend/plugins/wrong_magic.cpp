// A table with a foreign magic number.
#include "tests/backend/plugins/stub_table.h"

namespace {
constexpr tenon_backend_api kApi = [] {
  tenon_backend_api api = tenon::stub_table();
  api.magic = 0x464C457F;
  return api;
}();
}  // namespace

TENON_TEST_ENTRY(uint32_t, uint32_t) { return &kApi; }
