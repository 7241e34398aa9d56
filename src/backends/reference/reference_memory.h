// Memory from the host, owned; and size arithmetic that cannot wrap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "backends/reference/reference_failure.h"

namespace tenon::reference {

/// a * b, or LIMIT naming `what`.
inline uint64_t multiply(uint64_t a, uint64_t b, std::string_view what) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    refuse(TENON_BACKEND_LIMIT, "reference: {}: {} x {} overflows 64 bits", what, a, b);
  }
  return product;
}

/// a + b, or LIMIT naming `what`.
inline uint64_t add(uint64_t a, uint64_t b, std::string_view what) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    refuse(TENON_BACKEND_LIMIT, "reference: {}: {} + {} overflows 64 bits", what, a, b);
  }
  return sum;
}

/// Zeroed bytes of the host, aligned to 64. Move-only.
class HostMemory {
 public:
  HostMemory() = default;
  /// NO_MEMORY naming `what` when the host has none.
  HostMemory(const tenon_host* host, uint64_t size_bytes, uint32_t purpose, std::string_view what)
      : host_(host), size_bytes_(size_bytes), purpose_(purpose) {
    if (size_bytes_ == 0) return;
    bytes_ = static_cast<std::byte*>(host_->allocate(host_->user, size_bytes_, 64, purpose_));
    if (bytes_ == nullptr) {
      refuse(TENON_BACKEND_NO_MEMORY, "reference: no memory for {} ({} bytes)", what, size_bytes_);
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

}  // namespace tenon::reference
