// Device memory for steps: slabs of cache blocks. Users manage its contents.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/device.h"
#include "tenon/backend.h"

namespace tenon {

/// Owns a buffer and keeps its device alive. Reads, writes and copies use byte ranges and take
/// effect after all submitted steps. Throw the backend's errors.
class DeviceBuffer {
 public:
  /// Allocates size_bytes of zeros for TENON_MEMORY_*. Throws NoMemory.
  DeviceBuffer(std::shared_ptr<Device> device, uint64_t size_bytes, uint32_t purpose);

  /// Handle for tenon_cache_pool.
  [[nodiscard]] tenon_buffer* get() const { return buffer_.get(); }

  void read(uint64_t offset, void* out, uint64_t size_bytes) const;
  void write(uint64_t offset, const void* in, uint64_t size_bytes);
  /// Copies bytes [from_offset, from_offset + size_bytes) of another buffer of the device to
  /// `offset`.
  void copy(uint64_t offset, const DeviceBuffer& from, uint64_t from_offset, uint64_t size_bytes);

 private:
  struct Destroy {
    const Device* device;
    void operator()(tenon_buffer* buffer) const noexcept;
  };

  std::shared_ptr<Device> device_;
  std::unique_ptr<tenon_buffer, Destroy> buffer_;
};

}  // namespace tenon
