// Source of cache memory as the pools see it.
#pragma once

#include <cstdint>

#include "tenon/backend.h"

namespace tenon {

/// A device, or a test's stand-in. Outlives the pools that use it. For the thread that holds the
/// device's turn.
class SlabMemory {
 public:
  virtual ~SlabMemory() = default;
  /// Creates a zeroed buffer of size_bytes. Throws NoMemory.
  virtual tenon_buffer* create(uint64_t size_bytes) = 0;
  virtual void destroy(tenon_buffer* slab) noexcept = 0;
  virtual void copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                    uint64_t from_offset, uint64_t size_bytes) = 0;
  virtual void read(tenon_buffer* slab, uint64_t offset, void* out, uint64_t size_bytes) = 0;
  virtual void write(tenon_buffer* slab, uint64_t offset, const void* in, uint64_t size_bytes) = 0;
};

}  // namespace tenon
