// Interface of the tables that map one sequence to its blocks in one cache group. Tables of
// positions are in block_table.h, of recurrent states in state_table.h, of a source in
// cross_table.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kv/block_pool.h"

namespace tenon {

/// Owns a reference to each of its blocks. One thread at a time. Tables that share blocks may be
/// used from different threads, but `prepare` and `compact` use the device.
/// A sequence advances by
///   trim(past)  prepare(past, count)  entries() -> step -> commit(past + count, keep)
/// with truncate(past) instead of commit() if the step fails.
class CacheTable {
 public:
  /// Creates a table of the pool's kind with capacity for max_positions positions.
  static std::unique_ptr<CacheTable> create(std::shared_ptr<BlockPool> pool,
                                            uint64_t max_positions);
  virtual ~CacheTable() = default;
  CacheTable(const CacheTable&) = delete;
  CacheTable& operator=(const CacheTable&) = delete;

  /// Returns a new table that shares all blocks.
  [[nodiscard]] virtual std::unique_ptr<CacheTable> fork() const = 0;

  /// Makes positions [past, past + count) writable by this sequence alone. Allocates no host memory
  /// while the pool has free blocks. On NoMemory, positions before `past` are unchanged.
  virtual void prepare(uint64_t past, uint64_t count) = 0;
  /// Blocks that prepare(past, count) would allocate.
  [[nodiscard]] virtual uint64_t num_needed(uint64_t past, uint64_t count) const = 0;
  /// Most blocks that a sequence holds at a time while it grows to `end` positions in slices of
  /// `slice`.
  [[nodiscard]] virtual uint64_t most_blocks(uint64_t end, uint64_t slice) const = 0;
  /// Blocks to allocate in total while [past, past + count) is computed in slices of `slice`.
  [[nodiscard]] virtual uint64_t num_needed_in_all(uint64_t past, uint64_t count,
                                                   uint64_t slice) const = 0;
  /// Marks all positions before `positions` as computed. is_stop: the slice ended at a next_stop().
  virtual void commit(uint64_t positions, bool is_stop) noexcept = 0;
  /// Releases blocks that tokens from `past` on, or shortly before it, do not see.
  virtual void trim(uint64_t past) noexcept = 0;

  /// The last position, at most `position`, from which a sequence can continue.
  [[nodiscard]] virtual uint64_t resumable(uint64_t position) const = 0;
  /// Rewinds to a resumable position.
  virtual void truncate(uint64_t position) noexcept = 0;
  /// Releases rows that belong to the whole sequence instead of a position: those of a source.
  virtual void lose_rest() noexcept {}
  /// Releases one block that is not needed for the next position; false if none is spare.
  virtual bool drop_spare() noexcept = 0;
  /// The next position after `past` where a slice must end, in a text of `size` tokens; UINT64_MAX
  /// means none.
  [[nodiscard]] virtual uint64_t next_stop(uint64_t past, uint64_t size) const = 0;

  // Shared blocks. Block `index` covers the positions before (index + 1) * block_tokens.

  /// The full block `index`, or the state after it; kNoBlock if missing.
  [[nodiscard]] virtual uint32_t shared_block(uint64_t index) const = 0;
  /// The first block that a sequence needs to continue after `num_blocks` blocks.
  [[nodiscard]] virtual uint64_t first_needed(uint64_t num_blocks) const = 0;
  /// Reserves capacity for adopt(). Throws std::bad_alloc.
  virtual void reserve(uint64_t num_blocks) = 0;
  /// Adds a reference to a block with the contents of block `index`. Call in ascending order of
  /// index; blocks before first_needed() of the last one may be left out.
  virtual void adopt(uint64_t index, uint32_t block) noexcept = 0;
  /// STATE only: the state after `position` tokens, or kNoBlock.
  [[nodiscard]] virtual uint32_t state_after(uint64_t) const { return kNoBlock; }
  /// STATE only: adds a reference to the state after `position` tokens.
  virtual void adopt_state(uint64_t, uint32_t) noexcept {}
  /// Moves unshared blocks to earlier slabs. Throws the device's errors.
  virtual void compact() = 0;

  /// Entries of this table in a step's block_tables. Valid until the next change.
  [[nodiscard]] virtual std::span<const uint32_t> entries() const = 0;
  /// Number of blocks held.
  [[nodiscard]] virtual uint64_t num_held() const = 0;
  [[nodiscard]] BlockPool& pool() const { return *pool_; }

 protected:
  static constexpr uint32_t kNoBlock = BlockPool::kNoBlock;
  explicit CacheTable(std::shared_ptr<BlockPool> pool) : pool_(std::move(pool)) {}

  std::shared_ptr<BlockPool> pool_;
};

}  // namespace tenon
