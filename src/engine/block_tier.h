// The tier below the prefix index: a thread that copies computed blocks to a block store and reads
// them back for prompts that begin alike (docs/inside/store.md).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/system.h"
#include "base/wake.h"
#include "kv/block_store.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

struct Request;

/// A prompt whose blocks are looked for.
struct StoreRead {
  Hash128 root;
  std::vector<Hash128> keys;  ///< of its full blocks
  std::vector<Token> tokens;  ///< of these blocks
  uint64_t until_ns = 0;      ///< computing them would take until then
  Request* request =
      nullptr;  ///< that waits; null if it no longer does. The engine's lock guards it
};

/// The cache of an engine as the tier sees it. Each call takes the locks that it needs.
class TierCache {
 public:
  struct Group {
    uint64_t block_bytes = 0;
    uint64_t num_needed = 0;  ///< as PrefixIndex::num_needed
  };
  /// A block of the index to be written.
  struct Found {
    Hash128 before;
    std::vector<Token> text;  ///< from the beginning to the end of the block
    bool has_block = false;   ///< of that group
  };
  /// A block that was read.
  struct Block {
    uint64_t index;  ///< among StoreRead::keys
    uint32_t group;
    std::span<const std::byte> bytes;
  };

  virtual ~TierCache() = default;
  [[nodiscard]] virtual std::span<const Group> groups() const = 0;
  [[nodiscard]] virtual uint32_t block_tokens() const = 0;
  virtual Found find(Hash128 key, uint32_t group) = 0;
  /// Copies a block; false if the index no longer has it.
  virtual bool copy(Hash128 key, uint32_t group, const Found& found, std::span<std::byte> out) = 0;
  /// Number of blocks after which the prompt can continue already; nothing if no request waits.
  ///   held  [out] [keys, groups] 1 for each block in the index
  virtual std::optional<uint64_t> look_up(const StoreRead& read, std::span<uint8_t> held) = 0;
  /// Puts blocks into the index, in ascending order of index. Returns false if no request waits, if
  /// there is no room without preempting one, or if a block before is gone.
  virtual bool add(const StoreRead& read, std::span<const Block> blocks) = 0;
  /// Lets the request go on.
  virtual void end(StoreRead& read) = 0;
};

struct StoreCounts {
  uint64_t hits = 0;  ///< blocks
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t dropped = 0;  ///< blocks that were not written
};

/// Any thread, unless noted. Calls the store on its own thread only.
class BlockTier {
 public:
  /// Starts the thread. `cache` must outlive the tier. Throws Io if there is no thread.
  BlockTier(TierCache& cache, std::shared_ptr<BlockStore> store, Hash128 bits,
            std::shared_ptr<System> system);
  /// Writes what waits, for at most kDrainNs, and ends the thread.
  ~BlockTier();
  BlockTier(const BlockTier&) = delete;
  BlockTier& operator=(const BlockTier&) = delete;

  /// Asks to write the blocks of a node of the index, or to note their use if the store has them.
  /// Allocates nothing. Dropped if too many wait.
  void offer(Hash128 key) noexcept;
  /// Asks to read; TierCache::end() follows. Returns false if too many wait, or the store hangs.
  /// Throws std::bad_alloc.
  [[nodiscard]] bool read(std::shared_ptr<StoreRead> wanted);
  [[nodiscard]] StoreCounts counts() const noexcept;
  /// Waits until nothing waits to be written or read. For tests and measurements.
  void settle();

  static constexpr uint64_t kDrainNs = 5'000'000'000;
  static constexpr size_t kMostOffers = 4096;
  static constexpr size_t kMostReads = 256;

 private:
  struct Shared;
  class Plan;
  class Batch;

  static void* enter(void* arg);
  static void run(Shared& shared);
  static void write_blocks(Shared& shared, Hash128 key);
  static void read_blocks(Shared& shared, StoreRead& read);

  std::shared_ptr<Shared> shared_;  // with the thread
  ThreadHandle thread_{};
};

}  // namespace tenon
