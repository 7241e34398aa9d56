// Cannot run here: its entry returns NULL.
#include "tests/backend/plugins/stub_table.h"

TENON_TEST_ENTRY(uint32_t, uint32_t) { return nullptr; }
