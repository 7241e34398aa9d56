// Computed blocks of all cache groups by the text before and in them, so that equal beginnings are
// computed once. Which sequence looks for what, and when, is the engine's business.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "kv/block_pool.h"

namespace tenon {

/// Where a text left what the index knows.
struct PrefixMiss {
  enum class Cause : uint8_t {
    None,           ///< nothing like it was ever there
    DifferentText,  ///< the text goes on otherwise
    Evicted,        ///< it was there, and its memory was needed
    Salt,           ///< it is there under another salt
    CacheType,      ///< it was computed with another type of cache
  };
  Cause cause = Cause::None;
  uint64_t position = 0;  ///< the first that is not there
};

/// A tree of texts in pieces of one block: the key of a piece is a hash of its tokens and of the
/// key before it, that of the first one of the salt. Keys find; tokens are compared. For each piece
/// the index has the block of each group, or the state after it, but may lack those of windows and
/// states: a text can go on after a piece where all groups have what they need for that. The index
/// holds a reference to each of its blocks; one without another may be evicted, the least recently
/// used first.
///
/// Not thread-safe.
class PrefixIndex {
 public:
  using Token = int32_t;
  static constexpr size_t kMaxGroups = 16;

  /// pools: one for each cache group, all with blocks of equally many positions.
  ///   seed  of the hashes: not to be guessed by those whose texts are in the index
  PrefixIndex(std::span<const std::shared_ptr<BlockPool>> pools, uint64_t seed);
  ~PrefixIndex();
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  [[nodiscard]] uint32_t block_tokens() const { return block_tokens_; }
  /// The key before the first block.
  [[nodiscard]] Hash128 root(std::string_view salt) const;
  /// The key of a block, tokens [block_tokens()].
  [[nodiscard]] Hash128 key(Hash128 before, std::span<const Token> tokens) const;

  /// What is there of a text, in pieces from its beginning.
  struct Match {
    uint64_t num_known = 0;   ///< that are in the index
    uint64_t num_usable = 0;  ///< after which a sequence can go on, at most num_known
  };
  ///   keys    of the pieces of `tokens` under `root`
  [[nodiscard]] Match match(Hash128 root, std::span<const Hash128> keys,
                            std::span<const Token> tokens) const;
  /// The block of a group at a key that match() has found; kNoBlock: it lacks it.
  [[nodiscard]] uint32_t block(Hash128 key, size_t group) const;

  /// The block of each group, [groups] or kNoBlock; empty when it is not there. Valid until the
  /// next insert or evict. The pieces before it must have been found (or inserted) with the same
  /// text.
  [[nodiscard]] std::span<const uint32_t> find(Hash128 before, Hash128 key,
                                               std::span<const Token> tokens) const;
  /// Offers computed blocks [groups], kNoBlock for those that are gone. Returns those to go on
  /// with: the ones given, or those that are there already with the same contents; empty when they
  /// cannot be taken (the piece before is gone, or another text has the key). Throws
  /// std::bad_alloc; nothing is then changed.
  ///   is_first  `before` is a root
  std::span<const uint32_t> insert(Hash128 before, Hash128 key, bool is_first,
                                   std::span<const Token> tokens, std::span<const uint32_t> blocks);
  /// The keys of a text from its first block on were just used.
  void touch(std::span<const Hash128> keys) noexcept;
  /// Frees a block of the least recently used pieces that have one which no sequence holds: the
  /// whole piece at the end of a text, else one of a window or a state. False when there are none.
  bool evict() noexcept;
  void clear() noexcept;

  /// Why the block after `before` with `key` was not found. num_before: the blocks before it.
  [[nodiscard]] PrefixMiss explain(Hash128 before, Hash128 key, std::span<const Token> tokens,
                                   uint64_t num_before) const;

  /// Pieces in the index.
  [[nodiscard]] uint64_t num_blocks() const { return by_key_.size(); }
  [[nodiscard]] uint64_t num_evicted() const { return num_evicted_; }
  /// Changes whenever a block comes.
  [[nodiscard]] uint64_t version() const { return num_inserted_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct KeyHash {
    size_t operator()(const Hash128& key) const { return key.low; }
  };
  struct Entry {
    Hash128 key;
    Hash128 before;
    uint32_t parent = kNone;  // kNone: the first of a text
    uint32_t first_child = kNone;
    uint32_t next_sibling = kNone;
    uint32_t previous_sibling = kNone;
    uint32_t newer = kNone;  // in the order of use
    uint32_t older = kNone;
    uint32_t num_held = 0;  // blocks that it has
  };
  static constexpr uint32_t kNoBlock = BlockPool::kNoBlock;

  [[nodiscard]] std::span<const Token> tokens_of(uint32_t entry) const;
  [[nodiscard]] std::span<const uint32_t> blocks_of(uint32_t entry) const;
  uint32_t take_entry();
  uint32_t& first_child_of(uint32_t parent, Hash128 before);
  void make_newest(uint32_t entry) noexcept;
  void unlink_use(uint32_t entry) noexcept;
  void remove(uint32_t entry) noexcept;
  void put(uint32_t entry, size_t group, uint32_t block) noexcept;
  void take_out(uint32_t entry, size_t group) noexcept;
  [[nodiscard]] bool is_idle(uint32_t entry, size_t group) const;
  bool drop_side_block(uint32_t entry) noexcept;
  void sweep() noexcept;
  [[nodiscard]] Hash128 first_text(std::span<const Token> tokens) const;

  std::vector<std::shared_ptr<BlockPool>> pools_;
  std::vector<uint64_t> needed_;  // [groups] blocks before a place that going on there needs
  uint64_t seed_;
  uint32_t block_tokens_;
  std::vector<Entry> entries_;
  std::vector<Token> tokens_;     // [entries, block_tokens]
  std::vector<uint32_t> blocks_;  // [entries, groups]
  std::vector<uint32_t> unused_;  // entries
  std::unordered_map<Hash128, uint32_t, KeyHash> by_key_;
  std::unordered_map<Hash128, uint32_t, KeyHash> roots_;  // the first blocks of a salt
  uint32_t newest_ = kNone;
  uint32_t oldest_ = kNone;
  uint64_t num_without_ = 0;  // pieces without any block
  uint64_t num_inserted_ = 0;
  uint64_t num_evicted_ = 0;
  // What was evicted, and under which root a first block was seen: small tables that forget.
  std::vector<Hash128> evicted_;
  struct Seen {
    Hash128 text;
    Hash128 root;
  };
  std::vector<Seen> seen_;
};

}  // namespace tenon
