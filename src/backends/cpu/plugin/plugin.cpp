// The CPU backend as a plugin: the one symbol that a plugin exports. It is linked in otherwise; the
// tests build it so, to see that it needs nothing of the library.
#include "backends/cpu/api.h"

extern "C" [[gnu::visibility("default")]] const tenon_backend_api* tenon_backend_entry(
    uint32_t host_major, uint32_t host_minor) {
  return tenon_cpu_backend_entry(host_major, host_minor);
}
