// Memory from the host's allocator, owned. Nothing else of the backend allocates large blocks.
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "tenon/backend.h"

namespace tenon::cpu {

/// A zeroed block from tenon_host.allocate; throws std::bad_alloc when there is none.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const tenon_host& host, uint64_t size_bytes, uint32_t purpose)
      : host_(&host), size_bytes_(size_bytes), purpose_(purpose) {
    if (size_bytes == 0) return;
    constexpr uint64_t kAlignment = 64;  // a cache line and the widest vector
    data_ = static_cast<uint8_t*>(host.allocate(host.user, size_bytes, kAlignment, purpose));
    if (data_ == nullptr) throw std::bad_alloc();
  }
  HostMemory(HostMemory&& other) noexcept { swap(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory() {
    if (data_ != nullptr) host_->release(host_->user, data_, size_bytes_, purpose_);
  }

  [[nodiscard]] uint8_t* data() const { return data_; }
  [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }

 private:
  void swap(HostMemory& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(purpose_, other.purpose_);
  }

  const tenon_host* host_ = nullptr;
  uint8_t* data_ = nullptr;
  uint64_t size_bytes_ = 0;
  uint32_t purpose_ = 0;
};

/// Hands out aligned parts of a block in two passes: first with no memory, to learn the size, then
/// with the block of that size.
class Carver {
 public:
  explicit Carver(uint8_t* base) : base_(base) {}
  template <typename T>
  T* take(uint64_t count) {
    T* part = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + 63) / 64 * 64;
    return part;
  }
  [[nodiscard]] uint64_t used() const { return used_; }

 private:
  uint8_t* base_;
  uint64_t used_ = 0;
};

}  // namespace tenon::cpu
