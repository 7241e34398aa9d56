// The reference backend as a plugin, with its single exported symbol.
#include "backends/reference/reference_entry.h"

extern "C" [[gnu::visibility("default")]] const tenon_backend_api* tenon_backend_entry(
    uint32_t host_major, uint32_t host_minor) {
  return tenon_reference_backend_entry(host_major, host_minor);
}
