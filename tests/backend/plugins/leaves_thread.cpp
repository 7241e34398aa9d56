// Leaves a thread running after all its objects are destroyed.
#include <chrono>
#include <thread>

#include "tests/backend/plugins/stub_table.h"

namespace {
constexpr tenon_backend_api kApi = [] {
  tenon_backend_api api = tenon::stub_table();
  api.name = "threads";
  return api;
}();
}  // namespace

TENON_TEST_ENTRY(uint32_t, uint32_t) {
  std::thread([] {
    for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }).detach();
  return &kApi;
}
