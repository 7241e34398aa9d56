// What one sequence has in a CROSS group: the rows of its source, the text that an encoder read. They
// are the same at every position of the sequence. Who computes them is the engine's business.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kv/cache_table.h"

namespace tenon {

/// All blocks of the source or none: they are taken with the first position, must then be filled
/// before a step reads them, and stay wherever the sequence goes back to. When they are lost they are
/// taken and filled again, whatever the sequence has in other groups. Nothing writes to them once
/// they are filled, so forks share them for good.
class CrossTable : public CacheTable {
 public:
  explicit CrossTable(std::shared_ptr<BlockPool> pool) : CacheTable(std::move(pool)) {}
  ~CrossTable() override { lose_rest(); }

  /// The source has so many tokens. Gives the rows of another one back. Throws std::bad_alloc.
  void set_source_size(uint64_t tokens);
  /// It has blocks, and nothing is in them yet.
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
  // No block belongs to a position.
  [[nodiscard]] uint32_t shared_block(uint64_t) const override { return kNoBlock; }
  [[nodiscard]] uint64_t first_needed(uint64_t num_blocks) const override { return num_blocks; }
  void reserve(uint64_t) override {}
  void adopt(uint64_t, uint32_t) noexcept override {}
  void compact() override {}
  [[nodiscard]] std::span<const uint32_t> entries() const override { return blocks_; }
  [[nodiscard]] uint64_t num_held() const override { return blocks_.size(); }

 private:
  uint64_t num_blocks_ = 0;       // of the source
  std::vector<uint32_t> blocks_;  // those, or none
  bool is_filled_ = false;
};

}  // namespace tenon
