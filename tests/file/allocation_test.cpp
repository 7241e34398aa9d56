// What happens when small allocations fail, too: this program's operator new can be told to.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <new>

#include "base/error.h"
#include "tests/base/temp_folder.h"
#include "tests/file/sample_gguf.h"

namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
thread_local uint64_t allocations_left = kNever;
thread_local int64_t allocations_held = 0;

void* allocate(size_t size) {
  if (allocations_left != kNever && allocations_left-- == 0) {
    allocations_left = 0;
    throw std::bad_alloc();
  }
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  ++allocations_held;
  return memory;
}

void release(void* memory) noexcept {
  if (memory == nullptr) return;
  --allocations_held;
  std::free(memory);
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) { return allocate(size); }
[[gnu::noinline]] void* operator new[](size_t size) { return allocate(size); }
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocate(size);
  } catch (...) {
    return nullptr;
  }
}
[[gnu::noinline]] void* operator new[](size_t size, const std::nothrow_t& tag) noexcept {
  return operator new(size, tag);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  release(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  release(memory);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { release(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { release(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { release(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { release(memory); }

namespace tenon {
namespace {

TEST(Allocation, EachFailureWhileOpeningIsCleanlyReported) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", sample_gguf().finish());
  for (uint64_t n = 0;; ++n) {
    const int64_t held_before = allocations_held;
    bool failed = false;
    {
      OpenOptions options;
      allocations_left = n;
      try {
        const auto file = open_model_file(path, std::move(options));
        allocations_left = kNever;
        EXPECT_EQ(file->tensors().size(), 3u);
      } catch (const std::bad_alloc&) {
        failed = true;
      } catch (const Error&) {
        // An error whose text could not be made would be a bad_alloc; nothing else is wrong here.
        ADD_FAILURE() << "allocation " << n;
      }
      allocations_left = kNever;
    }
    EXPECT_EQ(allocations_held, held_before) << "allocation " << n;
    if (!failed) {
      EXPECT_GT(n, 50u);
      break;
    }
  }
}

}  // namespace
}  // namespace tenon
