// Owned bytes of a fixed size, allocated through System; for large objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/system.h"

namespace tenon {

/// Move-only. The bytes are uninitialised.
class Buffer {
 public:
  Buffer() = default;
  /// Allocates `size_bytes`; nothing for 0 bytes. Throws NoMemory naming `what`.
  Buffer(std::shared_ptr<System> system, uint64_t size_bytes, std::string_view what,
         uint64_t alignment = 64)
      : system_(std::move(system)), size_bytes_(size_bytes), alignment_(alignment) {
    if (size_bytes_ == 0) return;
    bytes_ = static_cast<std::byte*>(system_->allocate(size_bytes_, alignment_));
    if (bytes_ == nullptr) fail_no_memory(*system_, what, size_bytes_);
  }
  ~Buffer() {
    if (bytes_ != nullptr) system_->release(bytes_, size_bytes_, alignment_);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::byte* data() const { return bytes_; }
  [[nodiscard]] uint64_t size() const { return size_bytes_; }
  [[nodiscard]] std::span<std::byte> span() const { return {bytes_, size_bytes_}; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(system_, other.system_);
    std::swap(bytes_, other.bytes_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(alignment_, other.alignment_);
  }

  std::shared_ptr<System> system_;
  std::byte* bytes_ = nullptr;
  uint64_t size_bytes_ = 0;
  uint64_t alignment_ = 1;
};

}  // namespace tenon
