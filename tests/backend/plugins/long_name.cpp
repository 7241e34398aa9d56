// A name of 50 MB.
#include <string>

#include "tests/backend/plugins/stub_table.h"

TENON_TEST_ENTRY(uint32_t, uint32_t) {
  static const std::string name(50'000'000, 'a');
  static tenon_backend_api api = tenon::stub_table();
  api.name = name.c_str();
  return &api;
}
