// KV slabs in the memory of the device that runs a model. What is in them is for the pools.
#pragma once

#include <cstdint>

#include "kv/block_pool.h"
#include "model/runtime.h"

namespace tenon {

/// Slabs from the device that runs the model.
class DeviceSlabs : public SlabMemory {
 public:
  explicit DeviceSlabs(Runtime& runtime) : runtime_(runtime) {}
  tenon_buffer* create(uint64_t size_bytes) override {
    return runtime_.create_buffer(size_bytes, TENON_MEMORY_CACHE);
  }
  void destroy(tenon_buffer* slab) noexcept override { runtime_.destroy_buffer(slab); }
  void copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from, uint64_t from_offset,
            uint64_t size_bytes) override {
    runtime_.copy_buffer(to, to_offset, from, from_offset, size_bytes);
  }
  void read(tenon_buffer* slab, uint64_t offset, void* out, uint64_t size_bytes) override {
    runtime_.read_buffer(slab, offset, out, size_bytes);
  }
  void write(tenon_buffer* slab, uint64_t offset, const void* in, uint64_t size_bytes) override {
    runtime_.write_buffer(slab, offset, in, size_bytes);
  }

 private:
  Runtime& runtime_;
};

}  // namespace tenon
