// Read access to the arrays of the plugin ABI, whose elements may be larger than the structure that
// this side knows. Owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

/// `size` elements of type T, `stride` bytes apart.
template <typename T>
class Strided {
 public:
  Strided(const T* first, uint32_t size, uint32_t stride)
      : first_(reinterpret_cast<const std::byte*>(first)), size_(size), stride_(stride) {}

  [[nodiscard]] uint32_t size() const { return size_; }
  const T& operator[](uint32_t index) const {
    return *reinterpret_cast<const T*>(first_ + uint64_t{index} * stride_);
  }

 private:
  const std::byte* first_;
  uint32_t size_;
  uint32_t stride_;
};

}  // namespace tenon
