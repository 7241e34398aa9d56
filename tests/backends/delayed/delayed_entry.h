// The backend "delayed": the reference behind a queue, with the latencies of an asynchronous
// device. For tests of hosts with several steps under way.
#pragma once

#include "tenon/backend.h"

extern "C" const tenon_backend_api* tenon_delayed_backend_entry(uint32_t host_major,
                                                                uint32_t host_minor);
