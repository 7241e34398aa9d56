// A table that ends before the first version's.
#include "tests/backend/plugins/stub_table.h"

namespace {
constexpr tenon_backend_api kApi = [] {
  tenon_backend_api api = tenon::stub_table();
  api.struct_size = 64;
  return api;
}();
}  // namespace

TENON_TEST_ENTRY(uint32_t, uint32_t) { return &kApi; }
