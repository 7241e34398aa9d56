// Computed blocks of all cache groups, found by the text before and in them, so that common
// prefixes are computed once. The engine decides when to look up and insert.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "kv/block_pool.h"

namespace tenon {

/// Reason for a failed lookup.
struct PrefixMiss {
  enum class Cause : uint8_t {
    None,           ///< the prefix was never in the index
    DifferentText,  ///< the text differs from those in the index
    Evicted,        ///< the block was evicted
    Salt,           ///< the text is in the index under another salt
    CacheType,      ///< the text was computed with another cache type
  };
  Cause cause = Cause::None;
  uint64_t position = 0;  ///< the first missing position
};

/// Prefix tree of block-sized token runs (nodes). A node's key hashes its tokens and its parent's
/// key; a root's key hashes the salt. Lookup is by key; tokens are then compared. Each node has a
/// block per group, or the state after it; those of windows and states may be missing. A sequence
/// can continue after a node if all groups have the blocks they need. The index holds a reference
/// to each of its blocks. Blocks without another reference may be evicted, least recently used
/// first.
///
/// Not thread-safe.
class PrefixIndex {
 public:
  using Token = int32_t;
  static constexpr size_t kMaxGroups = 16;

  /// pools: one per cache group, with equal positions per block.
  ///   seed  of the hashes; keep it secret from those whose texts are in the index
  PrefixIndex(std::span<const std::shared_ptr<BlockPool>> pools, uint64_t seed);
  ~PrefixIndex();
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  [[nodiscard]] uint32_t block_tokens() const { return block_tokens_; }
  /// Key of the tree's root for a salt.
  [[nodiscard]] Hash128 root(std::string_view salt) const;
  /// Key of a node with parent key `before` and tokens [block_tokens()].
  [[nodiscard]] Hash128 key(Hash128 before, std::span<const Token> tokens) const;

  /// Result of looking up a text, in nodes from its beginning.
  struct Match {
    uint64_t num_known = 0;   ///< nodes in the index
    uint64_t num_usable = 0;  ///< nodes after which a sequence can continue; at most num_known
  };
  /// Looks up a text.
  ///   keys  of the nodes of `tokens` under `root`
  [[nodiscard]] Match match(Hash128 root, std::span<const Hash128> keys,
                            std::span<const Token> tokens) const;
  /// The group's block at a key found by match(); kNoBlock if missing.
  [[nodiscard]] uint32_t block(Hash128 key, size_t group) const;

  /// Blocks of a node, [groups] or kNoBlock; empty if the node is unknown. Valid until the next
  /// insert or evict. Its ancestors must have been found (or inserted) with the same text.
  [[nodiscard]] std::span<const uint32_t> find(Hash128 before, Hash128 key,
                                               std::span<const Token> tokens) const;
  /// Offers computed blocks [groups], kNoBlock for released ones. Returns the blocks to continue
  /// with: the given ones, or present ones with equal contents. Empty if they cannot be inserted:
  /// the parent is gone, or another text has the key. Throws std::bad_alloc and changes nothing
  /// then.
  ///   is_first  `before` is a root
  std::span<const uint32_t> insert(Hash128 before, Hash128 key, bool is_first,
                                   std::span<const Token> tokens, std::span<const uint32_t> blocks);
  /// Marks the keys of a text, from its first block on, as just used.
  void touch(std::span<const Hash128> keys) noexcept;
  /// Frees idle blocks of the least recently used node that has any: the whole node if it is a leaf
  /// and idle, else one block of a window or state. False if no block is idle.
  bool evict() noexcept;
  void clear() noexcept;

  /// A node as it is, without a text to compare. Valid until the next insert or evict.
  struct Node {
    Hash128 before;
    std::span<const Token> tokens;     ///< [block_tokens()]
    std::span<const uint32_t> blocks;  ///< [groups] or kNoBlock
  };
  [[nodiscard]] std::optional<Node> node(Hash128 key) const;
  /// Tokens from the text's beginning to the end of a node; empty if it is unknown.
  [[nodiscard]] std::vector<Token> text(Hash128 key) const;
  /// Blocks of a group that are needed before a position to continue there; UINT64_MAX: all.
  [[nodiscard]] uint64_t num_needed(size_t group) const { return needed_[group]; }

  /// Explains why the block with `key` after `before` was not found. num_before: number of blocks
  /// before it.
  [[nodiscard]] PrefixMiss explain(Hash128 before, Hash128 key, std::span<const Token> tokens,
                                   uint64_t num_before) const;

  /// Nodes in the index.
  [[nodiscard]] uint64_t num_blocks() const { return by_key_.size(); }
  [[nodiscard]] uint64_t num_evicted() const { return num_evicted_; }
  /// Changes whenever a block is inserted.
  [[nodiscard]] uint64_t version() const { return num_inserted_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct KeyHash {
    size_t operator()(const Hash128& key) const { return key.low; }
  };
  struct Entry {
    Hash128 key;
    Hash128 before;
    uint32_t parent = kNone;  // kNone: child of a root
    uint32_t first_child = kNone;
    uint32_t next_sibling = kNone;
    uint32_t previous_sibling = kNone;
    uint32_t newer = kNone;  // neighbours in the order of use
    uint32_t older = kNone;
    uint32_t num_held = 0;  // blocks it has
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
  std::vector<uint64_t> needed_;  // [groups] blocks needed before a position to continue there
  uint64_t seed_;
  uint32_t block_tokens_;
  std::vector<Entry> entries_;
  std::vector<Token> tokens_;     // [entries, block_tokens]
  std::vector<uint32_t> blocks_;  // [entries, groups]
  std::vector<uint32_t> unused_;  // indices of free entries
  std::unordered_map<Hash128, uint32_t, KeyHash> by_key_;
  std::unordered_map<Hash128, uint32_t, KeyHash> roots_;  // first child of each root
  uint32_t newest_ = kNone;
  uint32_t oldest_ = kNone;
  uint64_t num_without_ = 0;  // nodes without any block
  uint64_t num_inserted_ = 0;
  uint64_t num_evicted_ = 0;
  // Lossy tables of evicted keys, and of the root under which a first block was seen.
  std::vector<Hash128> evicted_;
  struct Seen {
    Hash128 text;
    Hash128 root;
  };
  std::vector<Seen> seen_;
};

}  // namespace tenon
