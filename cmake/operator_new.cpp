// Operators new and delete of a library that has its C++ library inside (cmake/exports.cmake, which
// hides them): a program's own operators stay with the program.
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

void* memory_or_null(std::size_t size, std::size_t alignment = 0) noexcept {
  void* memory = nullptr;
  const std::size_t least = size == 0 ? 1 : size;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(least);
  return ::posix_memalign(&memory, alignment, least) == 0 ? memory : nullptr;
}

void* memory_or_throw(std::size_t size, std::size_t alignment = 0) {
  void* const memory = memory_or_null(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t number(std::align_val_t alignment) {
  return static_cast<std::size_t>(alignment);
}

}  // namespace

using std::align_val_t;
using std::nothrow_t;
using std::size_t;

void* operator new(size_t size) { return memory_or_throw(size); }
void* operator new[](size_t size) { return memory_or_throw(size); }
void* operator new(size_t size, align_val_t to) { return memory_or_throw(size, number(to)); }
void* operator new[](size_t size, align_val_t to) { return memory_or_throw(size, number(to)); }
void* operator new(size_t size, const nothrow_t&) noexcept { return memory_or_null(size); }
void* operator new[](size_t size, const nothrow_t&) noexcept { return memory_or_null(size); }
void* operator new(size_t size, align_val_t to, const nothrow_t&) noexcept {
  return memory_or_null(size, number(to));
}
void* operator new[](size_t size, align_val_t to, const nothrow_t&) noexcept {
  return memory_or_null(size, number(to));
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, align_val_t, const nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, align_val_t, const nothrow_t&) noexcept { std::free(memory); }
