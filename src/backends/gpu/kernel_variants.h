// Variants of kernels by name, in the order of their numbers; cmake/vulkan.cmake reads these lines,
// too. X is a macro of a name.
#pragma once

/// Kernels of weights: a variant per family of formats (for_format of kernel_key.h).
#define TENON_MATRIX_VARIANTS(X, name) \
  X(name##_floats)                     \
  X(name##_scaled)                     \
  X(name##_k)                          \
  X(name##_codebook)                   \
  X(name##_small)

/// Kernels of weights in units: a variant per layout of units (for_units of kernel_key.h).
#define TENON_UNIT_VARIANTS(X, name) \
  X(name##_f16)                      \
  X(name##_q8_0)                     \
  X(name##_q4_k)                     \
  X(name##_q6_k)
