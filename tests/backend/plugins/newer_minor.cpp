// A usable table of a later minor version, with functions after the known ones.
#include "tests/backend/plugins/stub_table.h"

namespace {
constexpr tenon_backend_api kApi = [] {
  tenon_backend_api api = tenon::stub_table();
  api.minor = 9;
  api.struct_size = sizeof(api) + 64;
  return api;
}();
}  // namespace

TENON_TEST_ENTRY(uint32_t, uint32_t) { return &kApi; }
