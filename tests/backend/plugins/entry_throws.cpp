// Throws from its entry an exception whose destructor is code of this file: it must be destroyed
// before the plugin is unloaded.
#include "tests/backend/plugins/stub_table.h"

namespace {
struct Thrown {
  Thrown() = default;
  Thrown(const Thrown&) {}
  __attribute__((noinline)) ~Thrown() { *const_cast<volatile int*>(&seen) = 1; }
  int seen = 0;
};
}  // namespace

TENON_TEST_ENTRY(uint32_t, uint32_t) { throw Thrown(); }
