// Checked-size arithmetic: the only arithmetic allowed on sizes, counts and offsets that come from
// a file, a request or a plugin. Every overflow is an Error, never a wrap.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace tenon {

/// a + b; throws Error(code) naming `what` when it does not fit 64 bits.
inline uint64_t checked_add(uint64_t a, uint64_t b, std::string_view what,
                            Code code = Code::Format) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail(code, "{}: {} + {} overflows 64 bits", what, a, b);
  return sum;
}

/// a * b; throws Error(code) naming `what` when it does not fit 64 bits.
inline uint64_t checked_mul(uint64_t a, uint64_t b, std::string_view what,
                            Code code = Code::Format) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    fail(code, "{}: {} x {} overflows 64 bits", what, a, b);
  }
  return product;
}

/// The smallest multiple of `alignment` (a power of two) that is at least `value`.
inline uint64_t checked_align_up(uint64_t value, uint64_t alignment, std::string_view what,
                                 Code code = Code::Format) {
  return checked_add(value, alignment - 1, what, code) & ~(alignment - 1);
}

/// `value` as To; throws Error(code) naming `what` when it does not fit.
template <std::integral To, std::integral From>
To checked_cast(From value, std::string_view what, Code code = Code::Format) {
  if (!std::in_range<To>(value)) {
    fail(code, "{}: {} is outside {}..{}", what, value, std::numeric_limits<To>::min(),
         std::numeric_limits<To>::max());
  }
  return static_cast<To>(value);
}

}  // namespace tenon
