// Buffers of the plugin ABI: device memory for cache blocks. The plugin provides memory and copies.
#pragma once

#include <cstdint>

#include "abi/failure.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// The object behind a tenon_buffer. Its device must outlive it. Its functions take effect after
/// all earlier steps.
///   Types  the types of a plugin (device_executable.h)
template <typename Types>
class DeviceBuffer {
  using Context = typename Types::Context;
  using Memory = typename Types::Memory;

 public:
  DeviceBuffer(Context& context, uint64_t size_bytes)
      : context_(context), memory_(context, size_bytes, Types::kOfDevice, "a buffer") {
    Types::zero(context_, memory_);
  }
  /// Waits, because a step under way may still write to the buffer.
  ~DeviceBuffer() { context_.finish_quietly(); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  [[nodiscard]] static const DeviceBuffer* of(const tenon_buffer* buffer) {
    return reinterpret_cast<const DeviceBuffer*>(buffer);
  }
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
  void copy(uint64_t offset, const DeviceBuffer& from, uint64_t from_offset, uint64_t size) {
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
  /// Copies within the buffer; ranges may overlap, unlike in a device copy.
  void move_within(uint64_t offset, uint64_t from_offset, uint64_t size) {
    const Memory between(context_, size, Types::kOfDevice, "a copy");
    context_.copy(between, 0, memory_, from_offset, size);
    context_.copy(memory_, offset, between, 0, size);
  }

  Context& context_;
  Memory memory_;
};

}  // namespace tenon::gpu
