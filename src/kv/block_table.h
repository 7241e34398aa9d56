// The blocks of one sequence in a group that keeps positions: sharing, copy on write, rewind, and
// release of blocks before a window. Backends define the contents of blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kv/cache_table.h"

namespace tenon {

/// Table of FULL, LATENT and WINDOW groups. Blocks are in the order of position; those before
/// first_held_ are released (kNoBlock). A window keeps one block more than it needs: a text can go
/// back by a block's tokens without being computed from its beginning.
class BlockTable : public CacheTable {
 public:
  /// Makes an empty table with capacity for max_positions positions.
  BlockTable(std::shared_ptr<BlockPool> pool, uint64_t max_positions);
  ~BlockTable() override;

  [[nodiscard]] std::unique_ptr<CacheTable> fork() const override;
  /// `past` must not exceed the positions of the table. Copies the block of `past` if it is shared.
  void prepare(uint64_t past, uint64_t count) override;
  [[nodiscard]] uint64_t num_needed(uint64_t past, uint64_t count) const override;
  [[nodiscard]] uint64_t most_blocks(uint64_t end, uint64_t slice) const override;
  [[nodiscard]] uint64_t num_needed_in_all(uint64_t past, uint64_t count,
                                           uint64_t slice) const override;
  void commit(uint64_t, bool) noexcept override {}
  void trim(uint64_t past) noexcept override;
  [[nodiscard]] uint64_t resumable(uint64_t position) const override;
  /// Releases the blocks that only hold positions from `position` on.
  void truncate(uint64_t position) noexcept override;
  bool drop_spare() noexcept override { return false; }
  [[nodiscard]] uint64_t next_stop(uint64_t, uint64_t) const override { return UINT64_MAX; }
  [[nodiscard]] uint32_t shared_block(uint64_t index) const override;
  [[nodiscard]] uint64_t first_needed(uint64_t num_blocks) const override;
  void reserve(uint64_t num_blocks) override;
  void adopt(uint64_t index, uint32_t block) noexcept override;
  void compact() override;
  [[nodiscard]] std::span<const uint32_t> entries() const override { return blocks_; }
  [[nodiscard]] uint64_t num_held() const override { return blocks_.size() - first_held_; }
  /// most_blocks() of any table in this group.
  [[nodiscard]] static uint64_t most_held(const BlockPoolOptions& group, uint64_t end,
                                          uint64_t slice);

 private:
  [[nodiscard]] bool blocks_stand_alone() const;
  [[nodiscard]] uint64_t first_seen(uint64_t past) const;

  uint64_t max_positions_;
  std::vector<uint32_t> blocks_;
  uint64_t first_held_ = 0;
};

}  // namespace tenon
