// The memory of one KV group: blocks of positions from slabs that are made on demand, with
// reference counts and a hard budget. Which sequence owns which block is known to block tables.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "tenon/backend.h"

namespace tenon {

/// Where slabs come from: a device, or a test's stand-in. Outlives the pools that use it.
class SlabMemory {
 public:
  virtual ~SlabMemory() = default;
  /// A buffer of size_bytes, zeroed. Throws NoMemory.
  virtual tenon_buffer* create(uint64_t size_bytes) = 0;
  virtual void destroy(tenon_buffer* slab) noexcept = 0;
  virtual void copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                    uint64_t from_offset, uint64_t size_bytes) = 0;
};

struct BlockPoolOptions {
  uint64_t block_bytes = 0;            ///< as the backend says, more than 0
  uint32_t block_tokens = 32;          ///< positions in a block, more than 0
  uint64_t budget_bytes = UINT64_MAX;  ///< the pool never holds more
  /// About how much is asked of the device at once: large enough for 2 MiB pages to pay, small
  /// enough that a short text does not claim much.
  uint64_t slab_bytes = uint64_t{8} << 20;
};

/// `allocate` and `copy` use the device and are for whoever holds its turn; `retain`, `release` and
/// the figures may be used from any thread at any time.
class BlockPool {
 public:
  /// Allocates nothing yet. `memory` must outlive the pool.
  BlockPool(SlabMemory& memory, const BlockPoolOptions& options);
  /// Every block must have been released.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// A block with one reference and undefined contents. Throws NoMemory, naming needed and
  /// available bytes, when the budget is used up or the device has no memory; the pool is then
  /// unchanged.
  uint32_t allocate();
  /// One reference more, one less; the last one frees the block.
  void retain(uint32_t block) noexcept;
  void release(uint32_t block) noexcept;
  [[nodiscard]] uint32_t references(uint32_t block) const noexcept;
  /// Copies the contents of a block.
  void copy(uint32_t to, uint32_t from);

  /// What a step says about the pool. Valid until the next allocate().
  [[nodiscard]] tenon_kv_pool view() const;
  [[nodiscard]] uint32_t block_tokens() const { return options_.block_tokens; }
  [[nodiscard]] uint64_t block_bytes() const { return options_.block_bytes; }
  /// Blocks in use, and bytes of all slabs.
  [[nodiscard]] uint64_t num_used() const;
  [[nodiscard]] uint64_t size_bytes() const;

 private:
  void add_slab();

  SlabMemory& memory_;
  BlockPoolOptions options_;
  uint32_t blocks_per_slab_;
  uint64_t max_blocks_;
  mutable std::mutex mutex_;
  std::vector<tenon_buffer*> slabs_;
  std::vector<uint32_t> references_;  // [blocks of all slabs]
  std::vector<uint32_t> free_;        // taken from the back
};

}  // namespace tenon
