// The backend "delayed": the reference after a queue, with the latencies of a device that the host does
// not wait for. For tests of hosts that keep several steps under way.
#pragma once

#include "tenon/backend.h"

extern "C" const tenon_backend_api* tenon_delayed_backend_entry(uint32_t host_major,
                                                                uint32_t host_minor);
