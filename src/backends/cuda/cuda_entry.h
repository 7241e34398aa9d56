// The door of the CUDA backend: its table of functions, for the plugin.
#pragma once

#include "tenon/backend.h"

/// What the entry point of a plugin does (tenon/backend.h, 6).
extern "C" const tenon_backend_api* tenon_cuda_backend_entry(uint32_t host_major,
                                                             uint32_t host_minor);
