// The entry of the CPU backend, as the registry of built-in backends and the plugin call it.
#pragma once

#include "tenon/backend.h"

extern "C" const tenon_backend_api* tenon_cpu_backend_entry(uint32_t host_major,
                                                            uint32_t host_minor);
