// The recurrent states of one sequence in a STATE group: the latest, the one before it, and
// checkpoints. Backends define the contents of a state.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kv/cache_table.h"

namespace tenon {

/// A step reads one block and writes another, so keeping a state needs no copy. Forks, checkpoints
/// and the prefix index hold a reference to the block, and the next step writes another block. The
/// state before the latest is kept until its block is reused. So a failed step loses nothing, and a
/// text can rewind by the last slice (by one token during decode). If several steps are queued,
/// each reads the state that the one before it writes.
/// Checkpoints are made every state_checkpoint_tokens, and after the last whole block of a prompt,
/// where regenerated answers and texts with this prefix continue. If there are too many, those with
/// the nearest neighbours relative to their distance from the end are dropped: they thin out with
/// distance.
class StateTable : public CacheTable {
 public:
  explicit StateTable(std::shared_ptr<BlockPool> pool);
  ~StateTable() override;

  [[nodiscard]] std::unique_ptr<CacheTable> fork() const override;
  void prepare(uint64_t past, uint64_t count) override;
  [[nodiscard]] uint64_t num_needed(uint64_t past, uint64_t count) const override;
  [[nodiscard]] uint64_t most_blocks(uint64_t end, uint64_t slice) const override;
  [[nodiscard]] uint64_t num_needed_in_all(uint64_t past, uint64_t count,
                                           uint64_t slice) const override;
  void commit(uint64_t positions, bool is_stop) noexcept override;
  void trim(uint64_t) noexcept override {}
  [[nodiscard]] uint64_t resumable(uint64_t position) const override;
  void truncate(uint64_t position) noexcept override;
  bool drop_spare() noexcept override;
  [[nodiscard]] uint64_t next_stop(uint64_t past, uint64_t size) const override;
  [[nodiscard]] uint32_t shared_block(uint64_t index) const override;
  [[nodiscard]] uint64_t first_needed(uint64_t num_blocks) const override;
  void reserve(uint64_t) override {}
  void adopt(uint64_t index, uint32_t block) noexcept override;
  [[nodiscard]] uint32_t state_after(uint64_t position) const override;
  void adopt_state(uint64_t position, uint32_t block) noexcept override;
  void compact() override;
  [[nodiscard]] std::span<const uint32_t> entries() const override { return entries_; }
  [[nodiscard]] uint64_t num_held() const override;
  /// Most blocks of a table of this group while it grows to `end` positions, with checkpoints.
  [[nodiscard]] static uint64_t most_held(const BlockPoolOptions& group, uint64_t end);
  [[nodiscard]] uint64_t num_checkpoints() const { return checkpoints_.size(); }

 private:
  /// The state after `position` tokens; no block means no state.
  struct State {
    uint64_t position = 0;
    uint32_t block = kNoBlock;
  };
  [[nodiscard]] State find(uint64_t position) const;
  void drop(State& state) noexcept;
  void keep(const State& state) noexcept;
  [[nodiscard]] bool can_overwrite_previous() const;
  void truncate_under_way(uint64_t position) noexcept;

  State latest_;                    // no block at position 0
  State previous_;                  // state at an earlier position
  std::vector<State> under_way_;    // states that queued steps write, in order
  std::vector<State> checkpoints_;  // sorted by position; capacity for one above the limit
  std::array<uint32_t, 2> entries_{kNoBlock, kNoBlock};
};

}  // namespace tenon
