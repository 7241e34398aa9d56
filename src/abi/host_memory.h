// Owned memory from the host's allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "abi/failure.h"

namespace tenon::backends {

/// Zeroed host memory, aligned to 64: a cache line and the widest vector. Move-only.
class HostMemory {
 public:
  HostMemory() = default;
  /// Throws NO_MEMORY, naming `what`, if the host has none.
  HostMemory(const tenon_host* host, uint64_t size_bytes, uint32_t purpose, std::string_view what)
      : host_(host), size_bytes_(size_bytes), purpose_(purpose) {
    if (size_bytes_ == 0) return;
    bytes_ = static_cast<std::byte*>(host_->allocate(host_->user, size_bytes_, 64, purpose_));
    if (bytes_ == nullptr) {
      refuse(TENON_BACKEND_NO_MEMORY, "no memory for {} ({} bytes)", what, size_bytes_);
    }
  }
  ~HostMemory() {
    if (bytes_ != nullptr) host_->release(host_->user, bytes_, size_bytes_, purpose_);
  }
  HostMemory(HostMemory&& other) noexcept { swap(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    HostMemory(std::move(other)).swap(*this);
    return *this;
  }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return bytes_; }
  [[nodiscard]] uint64_t size() const { return size_bytes_; }
  [[nodiscard]] uint32_t purpose() const { return purpose_; }

 private:
  void swap(HostMemory& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(bytes_, other.bytes_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(purpose_, other.purpose_);
  }

  const tenon_host* host_ = nullptr;
  std::byte* bytes_ = nullptr;
  uint64_t size_bytes_ = 0;
  uint32_t purpose_ = TENON_MEMORY_SCRATCH;
};

}  // namespace tenon::backends
