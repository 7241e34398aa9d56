// The blocks of one cache group, in borrowed slabs: reference counts and a free list per slab.
// Cache tables map sequences to blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kv/slab_pool.h"
#include "tenon/backend.h"

namespace tenon {

/// A cache group as its pool sees it: the block-related fields of tenon_cache_group.
struct BlockPoolOptions {
  uint64_t block_bytes = 0;    ///< size of a block on the backend, more than 0
  uint32_t block_tokens = 32;  ///< positions in a block, more than 0; STATE: as in other groups
  uint32_t kind = TENON_CACHE_FULL;  ///< TENON_CACHE_*
  uint32_t window = 0;               ///< WINDOW: positions, at least 1
  uint32_t stride = 0;  ///< WINDOW: tokens see back to the last multiple; 0 means no stride
  /// STATE: most checkpoints of a sequence, and the positions between them.
  uint32_t state_checkpoints = 4;
  uint32_t state_checkpoint_tokens = 1024;
};

/// `allocate`, `copy`, `read` and `write` use the device: call them on the thread that holds its
/// turn. All other functions may be called from any thread at any time.
class BlockPool {
 public:
  static constexpr uint32_t kNoBlock = TENON_NO_BLOCK;

  /// Borrows no slab yet. A slab must have room for a block.
  BlockPool(std::shared_ptr<SlabPool> slabs, const BlockPoolOptions& options);
  /// All blocks must have been released.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// Allocates a block with one reference and undefined contents, in the first slab with a free
  /// block, so that the last slabs become empty. Throws NoMemory, naming needed and available
  /// bytes, if the budget is used up or the device has no memory; the pool is unchanged then.
  uint32_t allocate();
  /// Allocates a block in a slab before that of `block`; kNoBlock if these are full.
  uint32_t allocate_before(uint32_t block) noexcept;
  /// Adds or removes a reference. The last reference frees the block, the last block of a slab the
  /// slab.
  void retain(uint32_t block) noexcept;
  void release(uint32_t block) noexcept;
  [[nodiscard]] uint32_t references(uint32_t block) const noexcept;
  /// Copies the contents of a block.
  void copy(uint32_t to, uint32_t from);
  /// Copies a block to or from host memory, [block_bytes()].
  void read(uint32_t block, void* out);
  void write(uint32_t block, const void* in);

  /// Marks a block as referenced by the prefix index. Such a block is idle if it has no other
  /// reference.
  void set_indexed(uint32_t block, bool indexed) noexcept;
  [[nodiscard]] uint64_t num_idle() const;
  /// Free blocks in borrowed slabs.
  [[nodiscard]] uint64_t num_free() const;
  /// Blocks per slab.
  [[nodiscard]] uint32_t blocks_per_slab() const { return blocks_per_slab_; }
  /// Most blocks the pool can ever have.
  [[nodiscard]] uint64_t max_blocks() const { return max_blocks_; }
  /// Slabs to borrow for `count` more blocks.
  [[nodiscard]] uint64_t slabs_for(uint64_t count) const;

  /// Copies the slabs for a step, [block / blocks_per_slab()]; null entries are not borrowed.
  /// Allocates only if the number of slabs is a new maximum.
  void copy_slabs(std::vector<tenon_buffer*>& out) const;
  [[nodiscard]] const BlockPoolOptions& options() const { return options_; }
  [[nodiscard]] uint32_t block_tokens() const { return options_.block_tokens; }
  [[nodiscard]] uint64_t block_bytes() const { return options_.block_bytes; }
  [[nodiscard]] const std::shared_ptr<SlabPool>& slab_pool() const { return lender_; }
  /// Blocks in use.
  [[nodiscard]] uint64_t num_used() const;
  /// Bytes of borrowed slabs.
  [[nodiscard]] uint64_t size_bytes() const;

 private:
  struct Place {
    tenon_buffer* slab;
    uint64_t offset;
  };
  struct Slab {
    tenon_buffer* buffer = nullptr;  // null if given back
    uint32_t num_used = 0;
    uint32_t first_free = kNoBlock;  // list of free blocks, linked by next_free_
  };
  void borrow_slab();
  [[nodiscard]] size_t first_open_slab() const;
  uint32_t take_from(size_t slab) noexcept;
  void set_open(size_t slab, bool open) noexcept;
  [[nodiscard]] Place place(uint32_t block) const;

  std::shared_ptr<SlabPool> lender_;
  BlockPoolOptions options_;
  uint32_t blocks_per_slab_;
  uint64_t max_blocks_;
  mutable std::mutex mutex_;
  std::vector<Slab> slabs_;
  std::vector<uint64_t> open_;        // bit per slab: set if the slab has a free block
  std::vector<uint32_t> references_;  // [blocks of all slabs]
  std::vector<uint32_t> next_free_;   // [blocks of all slabs]
  std::vector<uint8_t> indexed_;      // [blocks of all slabs]
  uint64_t num_slabs_ = 0;            // borrowed
  uint64_t num_used_ = 0;
  uint64_t num_idle_ = 0;
};

/// Makes the pools for a program's groups, in their order, over one slab pool.
std::vector<std::shared_ptr<BlockPool>> make_block_pools(SlabMemory& memory,
                                                         std::span<const BlockPoolOptions> groups,
                                                         uint64_t device_slab_bytes,
                                                         uint64_t budget_bytes);

/// True if the pools can allocate needed [pools] more blocks, all at once. Pools of one slab pool
/// are adjacent.
bool have_room(std::span<const std::shared_ptr<BlockPool>> pools, std::span<const uint64_t> needed);

/// Pools [first, end) of one device; they share a slab pool.
struct PoolRange {
  size_t first;
  size_t end;
};
/// The range that begins with pool `first`.
inline PoolRange pools_of_device(std::span<const std::shared_ptr<BlockPool>> pools, size_t first) {
  size_t end = first + 1;
  while (end < pools.size() && pools[end]->slab_pool() == pools[first]->slab_pool()) ++end;
  return {first, end};
}

}  // namespace tenon
