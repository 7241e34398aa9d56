// The blocks of one sequence in one KV group, in order of position: sharing, copy on write, rewind.
// What is stored in the blocks is the backend's business.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kv/block_pool.h"

namespace tenon {

/// Owns a reference to each of its blocks. One thread at a time; tables that share blocks may be
/// used from different threads, but `prepare` only by whoever holds the device's turn.
class BlockTable {
 public:
  /// An empty table with room for max_positions positions.
  BlockTable(std::shared_ptr<BlockPool> pool, uint64_t max_positions);
  ~BlockTable();
  BlockTable(BlockTable&& other) noexcept;
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;
  BlockTable& operator=(BlockTable&&) = delete;

  /// A table over the same blocks. Costs no memory but its list.
  [[nodiscard]] BlockTable fork() const;

  /// Makes the positions [past, past + count) writable by this sequence alone: adds blocks, and
  /// copies the first one if others share it. past must not lie behind what the table holds.
  /// Allocates no host memory while the pool has free blocks. On NoMemory the positions before
  /// `past` are as they were.
  void prepare(uint64_t past, uint64_t count);

  /// Blocks that prepare(past, count) would allocate.
  [[nodiscard]] uint64_t num_needed(uint64_t past, uint64_t count) const;

  /// Takes a block that is full already as number `index`, in place of the one there, or as the
  /// first that the table lacks. Throws std::bad_alloc.
  void adopt(uint64_t index, uint32_t block);

  /// Gives up the blocks that only hold positions from `positions` on.
  void truncate(uint64_t positions) noexcept;

  /// The block numbers. Valid until the next prepare or truncate.
  [[nodiscard]] std::span<const uint32_t> blocks() const { return blocks_; }
  [[nodiscard]] BlockPool& pool() const { return *pool_; }

 private:
  std::shared_ptr<BlockPool> pool_;
  uint64_t max_positions_;
  std::vector<uint32_t> blocks_;
};

}  // namespace tenon
