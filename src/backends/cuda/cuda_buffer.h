// The buffers of the plugin ABI: memory of the device for blocks of the cache.
#pragma once

#include <cstdint>

#include "backends/common/failure.h"
#include "backends/cuda/cuda_context.h"

namespace tenon::cuda {

/// What a tenon_buffer of this backend is. It may outlive nothing: its device is destroyed last.
class Buffer {
 public:
  Buffer(Context& context, uint64_t size_bytes)
      : context_(context), memory_(context, size_bytes, Access::Device, "a buffer") {}

  [[nodiscard]] const tenon_host* host() const { return context_.host(); }
  [[nodiscard]] uint64_t size() const { return memory_.size(); }
  [[nodiscard]] uint64_t address() const { return memory_.address(); }

  void read(uint64_t offset, void* out, uint64_t size) const {
    check_range(offset, size);
    context_.read(memory_, offset, out, size);
  }
  void write(uint64_t offset, const void* in, uint64_t size) {
    check_range(offset, size);
    context_.write(memory_, offset, in, size);
  }
  void copy(uint64_t offset, const Buffer& from, uint64_t from_offset, uint64_t size) {
    check_range(offset, size);
    from.check_range(from_offset, size);
    if (&from == this && size > 0) return move_within(offset, from_offset, size);
    context_.copy(memory_, offset, from.memory_, from_offset, size);
  }

 private:
  void check_range(uint64_t offset, uint64_t size) const {
    if (offset <= this->size() && size <= this->size() - offset) return;
    backends::refuse(TENON_BACKEND_ARGUMENT, "{} bytes at {} of a buffer of {}", size, offset,
                     this->size());
  }
  /// Ranges of one buffer may overlap, which a copy of the device may not.
  void move_within(uint64_t offset, uint64_t from_offset, uint64_t size) {
    const Memory between(context_, size, Access::Device, "a copy");
    context_.copy(between, 0, memory_, from_offset, size);
    context_.copy(memory_, offset, between, 0, size);
  }

  Context& context_;
  Memory memory_;
};

inline Buffer* cuda_buffer(tenon_buffer* buffer) { return reinterpret_cast<Buffer*>(buffer); }
inline const Buffer* cuda_buffer(const tenon_buffer* buffer) {
  return reinterpret_cast<const Buffer*>(buffer);
}

}  // namespace tenon::cuda
