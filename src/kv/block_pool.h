// The memory of one KV group: blocks of positions from slabs that are made on demand, with
// reference counts and a hard budget. Which sequence owns which block is known to block tables.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tenon/backend.h"

namespace tenon {

/// Where slabs come from: a device, or a test's stand-in. Outlives the pools that use it.
class SlabMemory {
 public:
  virtual ~SlabMemory() = default;
  /// A buffer of size_bytes, zeroed. Throws NoMemory.
  virtual tenon_buffer* create(uint64_t size_bytes) = 0;
  virtual void destroy(tenon_buffer* slab) noexcept = 0;
  virtual void copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                    uint64_t from_offset, uint64_t size_bytes) = 0;
  virtual void read(tenon_buffer* slab, uint64_t offset, void* out, uint64_t size_bytes) = 0;
  virtual void write(tenon_buffer* slab, uint64_t offset, const void* in, uint64_t size_bytes) = 0;
};

/// Bytes that several pools may hold together.
class KvBudget {
 public:
  explicit KvBudget(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  [[nodiscard]] uint64_t limit_bytes() const { return limit_bytes_; }
  [[nodiscard]] uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t left_bytes() const { return limit_bytes_ - used_bytes(); }
  /// Whether there was so much left; it is then taken.
  bool take(uint64_t size_bytes) {
    uint64_t used = used_bytes();
    do {
      if (size_bytes > limit_bytes_ - used) return false;
    } while (!used_bytes_.compare_exchange_weak(used, used + size_bytes));
    return true;
  }
  void give_back(uint64_t size_bytes) { used_bytes_ -= size_bytes; }

 private:
  uint64_t limit_bytes_;
  std::atomic<uint64_t> used_bytes_{0};
};

/// Which positions a group of layers keeps. Only Full is there yet.
enum class CacheKind : uint8_t {
  Full,    ///< all of them
  Window,  ///< the latest so many
  State,   ///< one state that each position changes
};

struct BlockPoolOptions {
  uint64_t block_bytes = 0;            ///< as the backend says, more than 0
  uint32_t block_tokens = 32;          ///< positions in a block, more than 0
  uint64_t budget_bytes = UINT64_MAX;  ///< the pool never holds more
  /// About how much is asked of the device at once: large enough for 2 MiB pages to pay, small
  /// enough that a short text does not claim much.
  uint64_t slab_bytes = uint64_t{8} << 20;
  CacheKind kind = CacheKind::Full;
  /// Shared with other pools; null: one of budget_bytes alone.
  std::shared_ptr<KvBudget> budget = nullptr;
};

/// `allocate`, `copy`, `read` and `write` use the device and are for whoever holds its turn; `retain`, `release` and
/// the figures may be used from any thread at any time.
class BlockPool {
 public:
  /// Allocates nothing yet. `memory` must outlive the pool.
  BlockPool(SlabMemory& memory, const BlockPoolOptions& options);
  /// Every block must have been released.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// A block with one reference and undefined contents. Throws NoMemory, naming needed and
  /// available bytes, when the budget is used up or the device has no memory; the pool is then
  /// unchanged.
  uint32_t allocate();
  /// One reference more, one less; the last one frees the block.
  void retain(uint32_t block) noexcept;
  void release(uint32_t block) noexcept;
  [[nodiscard]] uint32_t references(uint32_t block) const noexcept;
  /// Copies the contents of a block.
  void copy(uint32_t to, uint32_t from);
  /// The same to and from host memory, [block_bytes()].
  void read(uint32_t block, void* out);
  void write(uint32_t block, const void* in);

  /// The prefix index has a reference to it: without another one it counts as idle.
  void set_indexed(uint32_t block, bool indexed) noexcept;
  [[nodiscard]] uint64_t num_idle() const;
  /// Blocks that allocate() can give, as far as the budget goes; and those there can ever be.
  [[nodiscard]] uint64_t num_available() const;
  [[nodiscard]] uint64_t max_blocks() const { return max_blocks_; }

  /// What a step says about the pool. Valid until the next allocate().
  [[nodiscard]] tenon_cache_pool view() const;
  [[nodiscard]] uint32_t block_tokens() const { return options_.block_tokens; }
  [[nodiscard]] uint64_t block_bytes() const { return options_.block_bytes; }
  /// Blocks in use, and bytes of all slabs.
  [[nodiscard]] uint64_t num_used() const;
  [[nodiscard]] uint64_t size_bytes() const;

 private:
  struct Place {
    tenon_buffer* slab;
    uint64_t offset;
  };
  void add_slab();
  [[nodiscard]] Place place(uint32_t block) const;

  SlabMemory& memory_;
  BlockPoolOptions options_;
  uint32_t blocks_per_slab_;
  uint64_t max_blocks_;
  mutable std::mutex mutex_;
  std::vector<tenon_buffer*> slabs_;
  std::vector<uint32_t> references_;  // [blocks of all slabs]
  std::vector<uint8_t> indexed_;      // [blocks of all slabs]
  uint64_t num_idle_ = 0;
  std::vector<uint32_t> free_;        // taken from the back
};

}  // namespace tenon
