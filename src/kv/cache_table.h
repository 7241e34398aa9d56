// What one sequence has in one cache group, whatever its kind: the interface of tables. A table of
// positions is in block_table.h, one of recurrent states in state_table.h, one of a source in
// cross_table.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kv/block_pool.h"

namespace tenon {

/// Owns a reference to each block that it holds. One thread at a time; tables that share blocks may
/// be used from different threads, but `prepare` and `compact` use the device.
///
/// A sequence advances so:
///   trim(past)  prepare(past, count)  entries() -> step -> commit(past + count, keep)
/// and where the step fails truncate(past) instead of commit.
class CacheTable {
 public:
  /// Of the kind that the pool says, with room for max_positions positions.
  static std::unique_ptr<CacheTable> create(std::shared_ptr<BlockPool> pool,
                                            uint64_t max_positions);
  virtual ~CacheTable() = default;
  CacheTable(const CacheTable&) = delete;
  CacheTable& operator=(const CacheTable&) = delete;

  /// A table over the same blocks.
  [[nodiscard]] virtual std::unique_ptr<CacheTable> fork() const = 0;

  /// Makes the positions [past, past + count) writable by this sequence alone. Allocates no host
  /// memory while the pool has free blocks. On NoMemory the positions before `past` are as they
  /// were.
  virtual void prepare(uint64_t past, uint64_t count) = 0;
  /// Blocks that prepare(past, count) would allocate.
  [[nodiscard]] virtual uint64_t num_needed(uint64_t past, uint64_t count) const = 0;
  /// Blocks that a sequence must hold at one time on its way to `end` positions in slices of
  /// `slice`.
  [[nodiscard]] virtual uint64_t most_blocks(uint64_t end, uint64_t slice) const = 0;
  /// Blocks that there must be room for until all of [past, past + count) is computed, in slices.
  [[nodiscard]] virtual uint64_t num_needed_in_all(uint64_t past, uint64_t count,
                                                   uint64_t slice) const = 0;
  /// The positions up to here are computed. is_stop: the slice ended where next_stop() wanted it.
  virtual void commit(uint64_t positions, bool is_stop) noexcept = 0;
  /// Gives back what no token from `past` on, and none shortly before it, sees.
  virtual void trim(uint64_t past) noexcept = 0;

  /// The last position, at most `position`, from which a sequence can be computed on.
  [[nodiscard]] virtual uint64_t resumable(uint64_t position) const = 0;
  /// Goes back to a position that is resumable.
  virtual void truncate(uint64_t position) noexcept = 0;
  /// Gives back what a table has at no position, but for all of them: the rows of a source.
  virtual void lose_rest() noexcept {}
  /// Gives back something that it can do without where it is; false: there is no such thing.
  virtual bool drop_spare() noexcept = 0;
  /// The next position after `past` where a slice must end, for a text of `size` tokens;
  /// UINT64_MAX: none.
  [[nodiscard]] virtual uint64_t next_stop(uint64_t past, uint64_t size) const = 0;

  // Blocks that tables share: number `index` is about the positions before (index + 1)
  // block_tokens.

  /// The full block, or the state after it, or kNoBlock.
  [[nodiscard]] virtual uint32_t shared_block(uint64_t index) const = 0;
  /// The first of the blocks that a sequence needs which goes on after `num_blocks` of them.
  [[nodiscard]] virtual uint64_t first_needed(uint64_t num_blocks) const = 0;
  /// Makes room in the table for adopt(). Throws std::bad_alloc.
  virtual void reserve(uint64_t num_blocks) = 0;
  /// Takes a block with the contents that number `index` has or is to have. In the order of their
  /// numbers; those before first_needed() of the last one may be left out.
  virtual void adopt(uint64_t index, uint32_t block) noexcept = 0;
  /// The state after that many positions, or kNoBlock; and taking one. STATE only.
  [[nodiscard]] virtual uint32_t state_after(uint64_t) const { return kNoBlock; }
  virtual void adopt_state(uint64_t, uint32_t) noexcept {}
  /// Moves blocks that no other table holds to earlier slabs. Throws what the device throws.
  virtual void compact() = 0;

  /// As a step has it in block_tables. Valid until the next change.
  [[nodiscard]] virtual std::span<const uint32_t> entries() const = 0;
  /// Blocks that it holds.
  [[nodiscard]] virtual uint64_t num_held() const = 0;
  [[nodiscard]] BlockPool& pool() const { return *pool_; }

 protected:
  static constexpr uint32_t kNoBlock = BlockPool::kNoBlock;
  explicit CacheTable(std::shared_ptr<BlockPool> pool) : pool_(std::move(pool)) {}

  std::shared_ptr<BlockPool> pool_;
};

}  // namespace tenon
