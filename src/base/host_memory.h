// A system whose memory is the host's.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/system.h"

namespace tenon {

/// Pages and buffers come from the host's callbacks, everything else from the system.
template <typename Rest>
class HostMemory final : public Rest {
 public:
  /// Throws Argument if a callback is missing.
  explicit HostMemory(const HostAllocator& allocator) : allocator_(allocator) {
    if (allocator.allocate == nullptr || allocator.release == nullptr) {
      fail(Code::Argument, "a host allocator needs both allocate and release");
    }
  }

  void* map_pages(uint64_t size_bytes) noexcept override {
    void* pages = allocate(size_bytes, page_alignment(size_bytes));
    if (pages != nullptr) std::memset(pages, 0, size_bytes);
    return pages;
  }
  void unmap_pages(void* pages, uint64_t size_bytes) noexcept override {
    if (pages != nullptr) release(pages, size_bytes, page_alignment(size_bytes));
  }
  // The host's pages may be shared with other data: do not advise on them.
  int advise_huge_pages(void*, uint64_t) noexcept override { return -ENOTSUP; }

  void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept override {
    if (size_bytes > SIZE_MAX) return nullptr;
    return allocator_.allocate(allocator_.user, size_bytes, alignment);
  }
  void release(void* memory, uint64_t size_bytes, uint64_t alignment) noexcept override {
    allocator_.release(allocator_.user, memory, size_bytes, alignment);
  }
  // The limit is unknown: only a refusal shows that the host has no more memory.
  uint64_t available_memory() noexcept override { return std::numeric_limits<uint64_t>::max(); }

 private:
  static uint64_t page_alignment(uint64_t size_bytes) noexcept {
    return size_bytes >= kHugePageBytes ? kHugePageBytes : 4096;
  }
  HostAllocator allocator_;
};

}  // namespace tenon
