// A block of memory on 2 MiB pages: allocates aligned spans and frees them all at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/system.h"

namespace tenon {

/// Weights, scratch and KV pools live in arenas. Bytes are zero at first. Spans are valid for the
/// arena's lifetime. `allocate` may be called from several threads at once.
class Arena {
 public:
  /// Maps `size_bytes` (0 is allowed) and asks for huge pages; touches nothing.
  ///   what  names the arena in messages ("weights")
  /// Throws NoMemory with the needed and the available bytes, even if the system would grant
  /// address space without memory.
  Arena(std::shared_ptr<System> system, uint64_t size_bytes, std::string what);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Returns the next `size_bytes` bytes, aligned to `alignment` (a power of two, at most 2 MiB).
  /// Throws NoMemory with the arena's name, the needed and the free bytes.
  std::span<std::byte> allocate(uint64_t size_bytes, uint64_t alignment = 64);

  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_, size_bytes_}; }
  [[nodiscard]] uint64_t size() const { return size_bytes_; }
  [[nodiscard]] uint64_t used() const { return used_.load(std::memory_order_relaxed); }

  /// Bytes of this arena on huge pages now. Grows as pages are touched; 0 if the kernel grants none
  /// or does not report them. Slow: reads /proc.
  [[nodiscard]] uint64_t huge_page_bytes() const;

 private:
  std::shared_ptr<System> system_;
  std::string what_;
  std::byte* memory_ = nullptr;
  uint64_t size_bytes_;
  uint64_t mapped_bytes_ = 0;
  std::atomic<uint64_t> used_{0};
};

}  // namespace tenon
