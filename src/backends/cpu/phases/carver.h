// Divides a block of memory into aligned parts.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// Hands out aligned parts of a block in two passes: first without memory, to compute the size,
/// then with a block of that size.
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
