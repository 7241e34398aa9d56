// The blocks of one sequence in a group that keeps positions: sharing, copy on write, rewind, and
// for a window the giving back of what is before it. What is stored in the blocks is the backend's
// business.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kv/cache_table.h"

namespace tenon {

/// For FULL, LATENT and WINDOW. Blocks are in the order of position; those before first_held_ are
/// gone (kNoBlock). A window keeps one block more than it needs, so that a text can go back by as
/// many tokens as a block has without being computed from its beginning.
class BlockTable : public CacheTable {
 public:
  /// An empty table with room for max_positions positions.
  BlockTable(std::shared_ptr<BlockPool> pool, uint64_t max_positions);
  ~BlockTable() override;

  [[nodiscard]] std::unique_ptr<CacheTable> fork() const override;
  /// past must not lie beyond what the table holds. Copies the block that holds `past` if others
  /// share it.
  void prepare(uint64_t past, uint64_t count) override;
  [[nodiscard]] uint64_t num_needed(uint64_t past, uint64_t count) const override;
  [[nodiscard]] uint64_t most_blocks(uint64_t end, uint64_t slice) const override;
  [[nodiscard]] uint64_t num_needed_in_all(uint64_t past, uint64_t count,
                                           uint64_t slice) const override;
  void commit(uint64_t, bool) noexcept override {}
  void trim(uint64_t past) noexcept override;
  [[nodiscard]] uint64_t resumable(uint64_t position) const override;
  /// Gives up the blocks that only hold positions from `position` on.
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
  /// most_blocks() of a table of these groups.
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
