// Memory for a program's cache on the device that runs it. Pools manage the contents.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "backend/device_buffer.h"
#include "kv/slab_memory.h"

namespace tenon {

/// Allocates slabs on the device of a model or of a part of it.
class DeviceSlabs : public SlabMemory {
 public:
  explicit DeviceSlabs(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  tenon_buffer* create(uint64_t size_bytes) override {
    DeviceBuffer slab(device_, size_bytes, TENON_MEMORY_CACHE);
    tenon_buffer* const buffer = slab.get();
    slabs_.emplace(buffer, std::move(slab));
    return buffer;
  }
  void destroy(tenon_buffer* slab) noexcept override { slabs_.erase(slab); }
  void copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from, uint64_t from_offset,
            uint64_t size_bytes) override {
    slabs_.at(to).copy(to_offset, slabs_.at(from), from_offset, size_bytes);
  }
  void read(tenon_buffer* slab, uint64_t offset, void* out, uint64_t size_bytes) override {
    slabs_.at(slab).read(offset, out, size_bytes);
  }
  void write(tenon_buffer* slab, uint64_t offset, const void* in, uint64_t size_bytes) override {
    slabs_.at(slab).write(offset, in, size_bytes);
  }

 private:
  std::shared_ptr<Device> device_;
  std::unordered_map<const tenon_buffer*, DeviceBuffer> slabs_;
};

}  // namespace tenon
