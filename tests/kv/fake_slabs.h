// Slab memory for tests: ordinary bytes, counted, with a limit.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "base/error.h"
#include "kv/block_pool.h"

namespace tenon {

class FakeSlabs : public SlabMemory {
 public:
  tenon_buffer* create(uint64_t size_bytes) override {
    if (num_created == limit) fail(Code::NoMemory, "device: needs {} bytes", size_bytes);
    ++num_created;
    ++num_alive;
    bytes_alive += size_bytes;
    return reinterpret_cast<tenon_buffer*>(new std::vector<std::byte>(size_bytes));
  }
  void destroy(tenon_buffer* slab) noexcept override {
    --num_alive;
    bytes_alive -= bytes(slab).size();
    delete &bytes(slab);
  }
  void copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from, uint64_t from_offset,
            uint64_t size_bytes) override {
    ++num_copies;
    if (copy_fails) fail(Code::State, "device: lost");
    std::memcpy(&bytes(to).at(to_offset), &bytes(from).at(from_offset), size_bytes);
    (void)bytes(to).at(to_offset + size_bytes - 1);
  }
  void read(tenon_buffer* slab, uint64_t offset, void* out, uint64_t size_bytes) override {
    std::memcpy(out, &bytes(slab).at(offset), size_bytes);
  }
  void write(tenon_buffer* slab, uint64_t offset, const void* in, uint64_t size_bytes) override {
    std::memcpy(&bytes(slab).at(offset), in, size_bytes);
  }
  static std::vector<std::byte>& bytes(const tenon_buffer* slab) {
    return *reinterpret_cast<std::vector<std::byte>*>(const_cast<tenon_buffer*>(slab));
  }

  uint64_t limit = UINT64_MAX;
  uint64_t num_created = 0;
  uint64_t num_alive = 0;
  uint64_t bytes_alive = 0;
  uint64_t num_copies = 0;
  bool copy_fails = false;
};

/// Pools of groups on one slab pool over fake slabs.
inline std::shared_ptr<BlockPool> make_pool(SlabMemory& memory, const BlockPoolOptions& options,
                                            const SlabPoolOptions& slabs = {}) {
  return std::make_shared<BlockPool>(std::make_shared<SlabPool>(memory, slabs), options);
}

/// First byte of a block.
inline std::byte& first_byte(const BlockPool& pool, uint32_t block) {
  std::vector<tenon_buffer*> slabs;
  pool.copy_slabs(slabs);
  return FakeSlabs::bytes(slabs.at(block / pool.blocks_per_slab()))
      .at(block % pool.blocks_per_slab() * pool.block_bytes());
}

}  // namespace tenon
