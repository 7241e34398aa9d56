// Slabs of equal bytes under one hard budget. Each is lent to one cache group at a time and comes
// back when none of its blocks is in use, so that memory flows between groups. Which blocks lie in
// a slab is the block pool's business. docs/decisions/0008-slabs-on-loan.md tells why.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "kv/slab_memory.h"

namespace tenon {

/// A budget has room for so many slabs of each group at least, if the blocks are small enough: a
/// slab that one block holds keeps little from the other groups.
inline constexpr uint64_t kLeastSlabs = 8;

/// Blocks in a slab at most; more gain nothing.
inline constexpr uint64_t kMostSlabBlocks = 1024;

struct SlabPoolOptions {
  uint64_t slab_bytes = uint64_t{8} << 20;  ///< of each slab, more than 0
  uint64_t budget_bytes = UINT64_MAX;       ///< the slabs together never have more
};

/// Bytes of a slab that suits groups with blocks of these sizes: about `device_bytes` (the device's
/// wish), but at least a block of each group, a small part of the budget, and such that little of a
/// slab is left over whichever group has it.
uint64_t choose_slab_bytes(std::span<const uint64_t> block_bytes, uint64_t device_bytes,
                           uint64_t budget_bytes);

/// `lend` and `trim` use the device and are for the thread that holds its turn; the rest may be
/// used from any thread.
class SlabPool {
 public:
  /// Allocates nothing yet. `memory` must outlive the pool.
  SlabPool(SlabMemory& memory, const SlabPoolOptions& options);
  /// Every slab must have come back.
  ~SlabPool();
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  /// A slab of undefined contents. Throws NoMemory, naming needed_bytes, when the budget is used up
  /// or the device has no memory; nothing is then changed.
  tenon_buffer* lend(uint64_t needed_bytes);
  void give_back(tenon_buffer* slab) noexcept;
  /// Gives slabs that are not lent back to the device, but for one in eight of those lent and one
  /// more: a sequence that goes on, or the next that begins, does not wait for the device.
  void trim() noexcept;

  [[nodiscard]] SlabMemory& memory() const { return memory_; }
  [[nodiscard]] uint64_t slab_bytes() const { return options_.slab_bytes; }
  [[nodiscard]] uint64_t limit_bytes() const { return options_.budget_bytes; }
  /// Slabs that there can be; slabs that lend() can give, as far as the budget goes.
  [[nodiscard]] uint64_t max_slabs() const { return max_slabs_; }
  [[nodiscard]] uint64_t num_available() const;
  /// Bytes of all slabs, lent or not.
  [[nodiscard]] uint64_t held_bytes() const;

 private:
  SlabMemory& memory_;
  SlabPoolOptions options_;
  uint64_t max_slabs_;
  mutable std::mutex mutex_;
  std::vector<tenon_buffer*> free_;  // not lent; has room for every slab
  uint64_t num_lent_ = 0;
};

}  // namespace tenon
