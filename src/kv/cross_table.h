// Blocks of one sequence in a CROSS group: the rows of its source, the text read by an encoder. All
// positions of the sequence see the same rows. The engine computes them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kv/cache_table.h"

namespace tenon {

/// Holds all blocks of the source, or none. They are allocated with the first position, and must be
/// filled before a step reads them. Rewinding keeps them. Lost blocks are allocated and filled
/// again, whatever the sequence has in other groups. Filled blocks are never written, so forks
/// share them for good.
class CrossTable : public CacheTable {
 public:
  explicit CrossTable(std::shared_ptr<BlockPool> pool) : CacheTable(std::move(pool)) {}
  ~CrossTable() override { lose_rest(); }

  /// Sets the source's size; releases the rows of the source before. Throws std::bad_alloc.
  void set_source_size(uint64_t tokens);
  /// True if blocks are allocated and not yet filled.
  [[nodiscard]] bool wants_rows() const { return !blocks_.empty() && !is_filled_; }
  void note_filled() noexcept { is_filled_ = true; }

  [[nodiscard]] std::unique_ptr<CacheTable> fork() const override;
  void prepare(uint64_t past, uint64_t count) override;
  [[nodiscard]] uint64_t num_needed(uint64_t past, uint64_t count) const override;
  [[nodiscard]] uint64_t most_blocks(uint64_t, uint64_t) const override { return num_blocks_; }
  [[nodiscard]] uint64_t num_needed_in_all(uint64_t past, uint64_t count, uint64_t) const override {
    return num_needed(past, count);
  }
  void commit(uint64_t, bool) noexcept override {}
  void trim(uint64_t) noexcept override {}
  [[nodiscard]] uint64_t resumable(uint64_t position) const override { return position; }
  void truncate(uint64_t) noexcept override {}
  void lose_rest() noexcept override;
  bool drop_spare() noexcept override { return false; }
  [[nodiscard]] uint64_t next_stop(uint64_t, uint64_t) const override { return UINT64_MAX; }
  // Blocks belong to no position.
  [[nodiscard]] uint32_t shared_block(uint64_t) const override { return kNoBlock; }
  [[nodiscard]] uint64_t first_needed(uint64_t num_blocks) const override { return num_blocks; }
  void reserve(uint64_t) override {}
  void adopt(uint64_t, uint32_t) noexcept override {}
  void compact() override {}
  [[nodiscard]] std::span<const uint32_t> entries() const override { return blocks_; }
  [[nodiscard]] uint64_t num_held() const override { return blocks_.size(); }

 private:
  uint64_t num_blocks_ = 0;       // blocks of the source
  std::vector<uint32_t> blocks_;  // all blocks of the source, or empty
  bool is_filled_ = false;
};

}  // namespace tenon
