// Saturating arithmetic for sizes that are only compared with a limit. checked.h has the throwing
// forms.
#pragma once

#include <cstdint>

namespace tenon {

/// a + b, or UINT64_MAX.
constexpr uint64_t saturating_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/// a * b, or UINT64_MAX.
constexpr uint64_t saturating_mul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

}  // namespace tenon
