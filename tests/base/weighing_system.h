// A System that tracks held bytes and their maximum. For tests only.
#pragma once

#include <atomic>
#include <cstdint>

#include "tests/base/faulty_system.h"

namespace tenon {

/// Counts held bytes.
class WeighingSystem : public FaultySystem {
 public:
  void* map_pages(uint64_t size_bytes) noexcept override {
    void* pages = FaultySystem::map_pages(size_bytes);
    if (pages != nullptr) add(static_cast<int64_t>(size_bytes));
    return pages;
  }
  void unmap_pages(void* pages, uint64_t size_bytes) noexcept override {
    if (pages != nullptr) add(-static_cast<int64_t>(size_bytes));
    FaultySystem::unmap_pages(pages, size_bytes);
  }
  void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept override {
    void* memory = FaultySystem::allocate(size_bytes, alignment);
    if (memory != nullptr) add(static_cast<int64_t>(size_bytes));
    return memory;
  }
  void release(void* memory, uint64_t size_bytes, uint64_t alignment) noexcept override {
    if (memory != nullptr) add(-static_cast<int64_t>(size_bytes));
    FaultySystem::release(memory, size_bytes, alignment);
  }
  [[nodiscard]] uint64_t held() const { return static_cast<uint64_t>(held_.load()); }
  [[nodiscard]] uint64_t peak() const { return static_cast<uint64_t>(peak_.load()); }

 private:
  void add(int64_t bytes) {
    const int64_t held = held_ += bytes;
    int64_t peak = peak_;
    while (held > peak && !peak_.compare_exchange_weak(peak, held)) {
    }
  }
  std::atomic<int64_t> held_{0};
  std::atomic<int64_t> peak_{0};
};

}  // namespace tenon
