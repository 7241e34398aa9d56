// Memory of a device that steps use: slabs of cache blocks. What lies in it is known above.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/device.h"
#include "tenon/backend.h"

namespace tenon {

/// Owns a buffer and keeps its device. Reads, writes and copies are by byte range and take effect
/// after all steps that were submitted before; each throws what the backend reports.
class DeviceBuffer {
 public:
  /// size_bytes, zeroed, for TENON_MEMORY_*. Throws NoMemory.
  DeviceBuffer(std::shared_ptr<Device> device, uint64_t size_bytes, uint32_t purpose);

  /// For tenon_cache_pool.
  [[nodiscard]] tenon_buffer* get() const { return buffer_.get(); }

  void read(uint64_t offset, void* out, uint64_t size_bytes) const;
  void write(uint64_t offset, const void* in, uint64_t size_bytes);
  /// Bytes [from_offset, from_offset + size_bytes) of another buffer of the device come to `offset`.
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
