// Overflow-checked size arithmetic; throws LIMIT.
#pragma once

#include <cstdint>
#include <string_view>

#include "abi/failure.h"

namespace tenon::backends {

/// a * b. Throws LIMIT that names `what`.
inline uint64_t multiply(uint64_t a, uint64_t b, std::string_view what) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    refuse(TENON_BACKEND_LIMIT, "{}: {} x {} overflows 64 bits", what, a, b);
  }
  return product;
}

/// a + b. Throws LIMIT that names `what`.
inline uint64_t add(uint64_t a, uint64_t b, std::string_view what) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    refuse(TENON_BACKEND_LIMIT, "{}: {} + {} overflows 64 bits", what, a, b);
  }
  return sum;
}

}  // namespace tenon::backends
