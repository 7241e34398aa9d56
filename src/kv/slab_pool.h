// Slabs of equal size under one hard budget. Each is lent to one cache group at a time and returns
// when all its blocks are free, so that memory moves between groups. Block pools divide slabs into
// blocks. docs/decisions/0008-slabs-on-loan.md gives the reasons.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "kv/slab_memory.h"

namespace tenon {

/// Least number of slabs per group in a budget, if blocks are small enough: a slab pinned by a
/// single block must cost the other groups little.
inline constexpr uint64_t kLeastSlabs = 8;

/// Most blocks per slab; more bring no gain.
inline constexpr uint64_t kMostSlabBlocks = 1024;

struct SlabPoolOptions {
  uint64_t slab_bytes = uint64_t{8} << 20;  ///< size of each slab, more than 0
  uint64_t budget_bytes = UINT64_MAX;       ///< most bytes of all slabs together
};

/// Slab size for groups with these block sizes: about `device_bytes` (the device's preference), at
/// least one block of each group, a small part of the budget, and with little waste in any group.
uint64_t choose_slab_bytes(std::span<const uint64_t> block_bytes, uint64_t device_bytes,
                           uint64_t budget_bytes);

/// `lend` and `trim` use the device: call them on the thread that holds its turn. All other
/// functions may be called from any thread.
class SlabPool {
 public:
  /// Allocates nothing yet. `memory` must outlive the pool.
  SlabPool(SlabMemory& memory, const SlabPoolOptions& options);
  /// All slabs must have been given back.
  ~SlabPool();
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  /// Lends a slab of undefined contents. Throws NoMemory, naming needed_bytes, if the budget is
  /// used up or the device has no memory; nothing changes then.
  tenon_buffer* lend(uint64_t needed_bytes);
  void give_back(tenon_buffer* slab) noexcept;
  /// Returns unlent slabs to the device, except one per eight lent and one more, so that a growing
  /// or new sequence does not wait for the device.
  void trim() noexcept;

  [[nodiscard]] SlabMemory& memory() const { return memory_; }
  [[nodiscard]] uint64_t slab_bytes() const { return options_.slab_bytes; }
  [[nodiscard]] uint64_t limit_bytes() const { return options_.budget_bytes; }
  /// Most slabs within the budget.
  [[nodiscard]] uint64_t max_slabs() const { return max_slabs_; }
  /// Slabs that lend() can give within the budget.
  [[nodiscard]] uint64_t num_available() const;
  /// Bytes of all slabs, lent or not.
  [[nodiscard]] uint64_t held_bytes() const;

 private:
  SlabMemory& memory_;
  SlabPoolOptions options_;
  uint64_t max_slabs_;
  mutable std::mutex mutex_;
  std::vector<tenon_buffer*> free_;  // unlent slabs; has capacity for every slab
  uint64_t num_lent_ = 0;
};

}  // namespace tenon
