// Samples whose number is known only when all are decoded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/buffer.h"
#include "base/error.h"

namespace tenon::decoding {

class SampleList {
 public:
  SampleList(const char* format, uint64_t most) : format_(format), most_(most) {}

  [[nodiscard]] uint64_t size() const { return size_; }

  /// Makes room for the number that a head tells, as far as the file's size makes it likely.
  void reserve(uint64_t told, uint64_t file_bytes) { grow(std::min(told, file_bytes * 4)); }

  /// Room for `count` more numbers at the end. Throws Limit, NoMemory.
  float* extend(uint64_t count) {
    if (count > most_ - size_) {
      fail(Code::Limit, "{}: the sound has more than {} samples over all channels", format_, most_);
    }
    if (size_ + count > room()) {
      grow(std::min(std::max(size_ + count, room() + room() / 2), most_));
    }
    float* end = data() + size_;
    size_ += count;
    return end;
  }

  /// The numbers; the buffer may be larger than they are.
  Buffer take() { return std::move(bytes_); }

 private:
  [[nodiscard]] uint64_t room() const { return bytes_.size() / sizeof(float); }
  [[nodiscard]] float* data() const { return reinterpret_cast<float*>(bytes_.data()); }
  void grow(uint64_t count) {
    if (count <= room()) return;
    Buffer more(System::real(), count * sizeof(float), "decoded sound");
    if (size_ > 0) std::memcpy(more.data(), data(), size_ * sizeof(float));
    bytes_ = std::move(more);
  }

  const char* format_;
  uint64_t most_;
  uint64_t size_ = 0;
  Buffer bytes_;
};

}  // namespace tenon::decoding
