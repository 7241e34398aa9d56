// The CPU backend as a plugin, with its single exported symbol. The library links it in; tests
// build the plugin to verify that it needs no symbol of the library.
#include "backends/cpu/api.h"

extern "C" [[gnu::visibility("default")]] const tenon_backend_api* tenon_backend_entry(
    uint32_t host_major, uint32_t host_minor) {
  return tenon_cpu_backend_entry(host_major, host_minor);
}
