// Counting operator new for a test program, which can be made to fail. Include in one file of a
// program, never in a library: it defines the operators.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "tests/base/new_counters.h"

namespace tenon::counted_new {

inline bool is_refused() noexcept {
  if (!is_armed || is_exempt) return false;
  const int64_t before = calls_before_refusal.fetch_sub(1);
  return before <= 0 && before > -refusals;
}

inline void* allocate(std::size_t size) noexcept {
  if (is_refused()) return nullptr;
  if (allocations_left == 0) return nullptr;
  if (allocations_left > 0) --allocations_left;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) return nullptr;
  if (is_exempt) return memory;
  ++num_allocations;
  num_bytes += size;
  ++num_held;
  return memory;
}

inline void release(void* memory) noexcept {
  if (memory == nullptr) return;
  if (!is_exempt) --num_held;
  std::free(memory);
}

}  // namespace tenon::counted_new

// Every form that the standard library pairs, so that no operator of a sanitizer mixes in. Not
// inlined: the compiler would warn about malloc paired with delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = tenon::counted_new::allocate(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return tenon::counted_new::allocate(size);
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return tenon::counted_new::allocate(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  tenon::counted_new::release(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  tenon::counted_new::release(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  tenon::counted_new::release(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  tenon::counted_new::release(memory);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  tenon::counted_new::release(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  tenon::counted_new::release(memory);
}
