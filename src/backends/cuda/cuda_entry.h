// Entry of the CUDA backend: its function table, for the plugin.
#pragma once

#include "tenon/backend.h"

/// Implements the plugin entry point (tenon/backend.h, 6).
extern "C" const tenon_backend_api* tenon_cuda_backend_entry(uint32_t host_major,
                                                             uint32_t host_minor);
