// Aligned memory of the C library, on every system. For tests only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#ifdef _WIN32
#include <malloc.h>
#endif

namespace tenon {

/// Null on failure; size_bytes need not be a multiple of alignment, a power of two.
inline void* allocate_aligned(size_t size_bytes, size_t alignment) {
  alignment = std::max(alignment, sizeof(void*));
#ifdef _WIN32
  return ::_aligned_malloc(size_bytes, alignment);
#else
  return std::aligned_alloc(alignment, (size_bytes + alignment - 1) / alignment * alignment);
#endif
}

inline void free_aligned(void* memory) {
#ifdef _WIN32
  ::_aligned_free(memory);
#else
  std::free(memory);
#endif
}

}  // namespace tenon
