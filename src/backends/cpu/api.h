// Entry of the CPU backend, called by the built-in registry and by the plugin.
#pragma once

#include "tenon/backend.h"

extern "C" const tenon_backend_api* tenon_cpu_backend_entry(uint32_t host_major,
                                                            uint32_t host_minor);
