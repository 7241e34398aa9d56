// The blocks of one cache group, in slabs that it borrows: reference counts and a free list for
// each slab. Which sequence owns which block is known to cache tables.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kv/slab_pool.h"
#include "tenon/backend.h"

namespace tenon {

/// What a group keeps of a sequence: a tenon_cache_group as far as blocks are concerned.
struct BlockPoolOptions {
  uint64_t block_bytes = 0;          ///< as the backend says, more than 0
  uint32_t block_tokens = 32;        ///< positions in a block, more than 0; STATE: as other groups
  uint32_t kind = TENON_CACHE_FULL;  ///< TENON_CACHE_*
  uint32_t window = 0;               ///< WINDOW: positions, at least 1
  uint32_t stride = 0;  ///< WINDOW: a token looks back to the last multiple; 0: further
  /// STATE: checkpoints that a sequence keeps at most, and the positions between them.
  uint32_t state_checkpoints = 4;
  uint32_t state_checkpoint_tokens = 1024;
};

/// `allocate`, `copy`, `read` and `write` use the device and are for the thread that holds its
/// turn; the rest may be used from any thread at any time.
class BlockPool {
 public:
  static constexpr uint32_t kNoBlock = TENON_NO_BLOCK;

  /// Borrows nothing yet. A slab must have room for a block.
  BlockPool(std::shared_ptr<SlabPool> slabs, const BlockPoolOptions& options);
  /// Every block must have been released.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// A block with one reference and undefined contents, in the first slab that has one: so the last
  /// slabs get empty. Throws NoMemory, naming needed and available bytes, when the budget is used
  /// up or the device has no memory; the pool is then unchanged.
  uint32_t allocate();
  /// The same where a slab before that of `block` has a free one; else kNoBlock.
  uint32_t allocate_before(uint32_t block) noexcept;
  /// One reference more, one less; the last one frees the block, and the slab with its last block.
  void retain(uint32_t block) noexcept;
  void release(uint32_t block) noexcept;
  [[nodiscard]] uint32_t references(uint32_t block) const noexcept;
  /// Copies the contents of a block.
  void copy(uint32_t to, uint32_t from);
  /// The same to and from host memory, [block_bytes()].
  void read(uint32_t block, void* out);
  void write(uint32_t block, const void* in);

  /// The prefix index has a reference to it: without another one it counts as idle.
  void set_indexed(uint32_t block, bool indexed) noexcept;
  [[nodiscard]] uint64_t num_idle() const;
  /// Free blocks in the slabs it has; blocks in a slab; blocks there can ever be.
  [[nodiscard]] uint64_t num_free() const;
  [[nodiscard]] uint32_t blocks_per_slab() const { return blocks_per_slab_; }
  [[nodiscard]] uint64_t max_blocks() const { return max_blocks_; }
  /// Slabs that `count` more blocks would have to borrow.
  [[nodiscard]] uint64_t slabs_for(uint64_t count) const;

  /// The slabs as a step has them, [number of a block / blocks_per_slab()]: null where none is.
  /// Allocates only when there are more than ever.
  void copy_slabs(std::vector<tenon_buffer*>& out) const;
  [[nodiscard]] const BlockPoolOptions& options() const { return options_; }
  [[nodiscard]] uint32_t block_tokens() const { return options_.block_tokens; }
  [[nodiscard]] uint64_t block_bytes() const { return options_.block_bytes; }
  [[nodiscard]] const std::shared_ptr<SlabPool>& slab_pool() const { return lender_; }
  /// Blocks in use, and bytes of the slabs it has.
  [[nodiscard]] uint64_t num_used() const;
  [[nodiscard]] uint64_t size_bytes() const;

 private:
  struct Place {
    tenon_buffer* slab;
    uint64_t offset;
  };
  struct Slab {
    tenon_buffer* buffer = nullptr;  // null: given back
    uint32_t num_used = 0;
    uint32_t first_free = kNoBlock;  // the others follow in next_free_
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
  std::vector<uint64_t> open_;        // a bit for each slab that has a free block
  std::vector<uint32_t> references_;  // [blocks of all slabs]
  std::vector<uint32_t> next_free_;   // [blocks of all slabs]
  std::vector<uint8_t> indexed_;      // [blocks of all slabs]
  uint64_t num_slabs_ = 0;            // that it has
  uint64_t num_used_ = 0;
  uint64_t num_idle_ = 0;
};

/// Pools of one slab pool for the groups of a program, in their order.
std::vector<std::shared_ptr<BlockPool>> make_block_pools(SlabMemory& memory,
                                                         std::span<const BlockPoolOptions> groups,
                                                         uint64_t device_slab_bytes,
                                                         uint64_t budget_bytes);

/// Whether pools can give needed [pools] more blocks, all at once. Those of one slab pool stand side by
/// side.
bool have_room(std::span<const std::shared_ptr<BlockPool>> pools, std::span<const uint64_t> needed);

/// The pools [first, end) that share a slab pool, those of one device.
struct PoolRange {
  size_t first;
  size_t end;
};
/// The range that begins with `first`, one of the pools.
inline PoolRange pools_of_device(std::span<const std::shared_ptr<BlockPool>> pools, size_t first) {
  size_t end = first + 1;
  while (end < pools.size() && pools[end]->slab_pool() == pools[first]->slab_pool()) ++end;
  return {first, end};
}

}  // namespace tenon
