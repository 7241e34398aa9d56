// The cache of a program in the memory of the device that runs it: slabs, and what pools are told
// of its groups. What is in a slab is for the pools.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kv/block_pool.h"
#include "model/runtime.h"
#include "program/program.h"

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

/// What pools are told of the cache groups of a program. States count positions in blocks as the
/// other groups do.
inline std::vector<BlockPoolOptions> cache_groups(const Program& program, const Runtime& runtime) {
  uint32_t block_tokens = 0;
  for (const tenon_cache_group& group : program.groups()) {
    block_tokens = std::max(block_tokens, group.block_tokens);
  }
  if (block_tokens == 0) block_tokens = runtime.device_info().block_tokens;
  std::vector<BlockPoolOptions> pools;
  for (uint32_t i = 0; i < program.groups().size(); ++i) {
    const tenon_cache_group& group = program.groups()[i];
    BlockPoolOptions pool;
    pool.block_bytes = runtime.block_bytes(i);
    pool.block_tokens = group.kind == TENON_CACHE_STATE ? block_tokens : group.block_tokens;
    pool.kind = group.kind;
    pool.window = group.window;
    pools.push_back(pool);
  }
  return pools;
}

}  // namespace tenon
