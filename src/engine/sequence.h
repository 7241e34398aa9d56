// A sequence of tokens and the KV blocks computed for its beginning. Who computes, and when, is the
// engine's business.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/hash.h"
#include "kv/block_table.h"
#include "kv/prefix_index.h"
#include "text/vocabulary.h"

namespace tenon {

/// The tokens [0, cached) have keys and values in the blocks; those behind are pending.
class Sequence {
 public:
  /// An empty sequence with room for `context` tokens.
  ///   pools  one for each KV group of the program
  ///   root   of the texts that it may share blocks with (PrefixIndex::root)
  Sequence(std::span<const std::shared_ptr<BlockPool>> pools, uint32_t context,
           Hash128 root = {});
  Sequence(Sequence&&) = default;

  /// The same tokens over the same blocks.
  [[nodiscard]] Sequence fork() const;

  /// Adds pending tokens. Throws Limit "tokens N > context M".
  void append(std::span<const Token> tokens);
  /// Drops the tokens from `size` <= size() on.
  void truncate(uint64_t size) noexcept;
  /// Makes the tokens from `size` <= cached() on pending again.
  void forget_cached(uint64_t size) noexcept;
  /// The same because others need the memory.
  void lose(uint64_t size) noexcept;
  /// Loses what the last block holds. There is one.
  void lose_block() noexcept;
  void swap(Sequence& other) noexcept;

  [[nodiscard]] std::span<const Token> tokens() const { return tokens_; }
  [[nodiscard]] uint64_t size() const { return tokens_.size(); }
  [[nodiscard]] uint32_t context() const { return context_; }
  [[nodiscard]] uint64_t cached() const { return cached_; }
  [[nodiscard]] uint64_t num_pending() const { return tokens_.size() - cached_; }
  /// What was computed before and is so no more, until it is computed again.
  struct Lost {
    uint64_t positions = 0;  ///< [0, positions)
    PrefixMiss::Cause cause = PrefixMiss::Cause::None;
  };
  [[nodiscard]] const Lost& lost() const { return lost_; }
  void set_lost(const Lost& lost) noexcept { lost_ = lost; }

  // For the engine, between taking the device's turn and giving it back.

  /// Makes room for the next `count` pending tokens. Throws NoMemory; nothing is then changed.
  void prepare(uint32_t count);
  /// The next `count` pending tokens are computed.
  void commit(uint32_t count) noexcept { set_cached(cached_ + count); }
  /// They are not: gives their blocks back.
  void roll_back() noexcept;
  /// [groups] block numbers of each group.
  [[nodiscard]] std::span<const BlockTable> tables() const { return tables_; }

  /// The keys of the first `count` full blocks of the text. Throws std::bad_alloc.
  std::span<const Hash128> keys(const PrefixIndex& index, uint64_t count);
  [[nodiscard]] Hash128 root() const { return root_; }
  /// Takes computed blocks [groups] of the same text as number `index`.
  void adopt(uint64_t index, std::span<const uint32_t> blocks);
  /// The values of the positions up to here, which were not computed in this engine, must not reach
  /// other sequences: they are as good as whoever brought them.
  void set_foreign(uint64_t size) noexcept { foreign_ = size; }
  [[nodiscard]] bool has_foreign() const { return foreign_ > 0; }
  /// The blocks adopted hold the positions up to here.
  void set_cached(uint64_t size) noexcept {
    cached_ = size;
    if (cached_ >= lost_.positions) lost_ = {};
  }

 private:
  Sequence(uint32_t context, Hash128 root) : context_(context), root_(root) {}

  uint32_t context_;
  Hash128 root_;
  std::vector<Hash128> keys_;  // of the first so many full blocks, as far as they were wanted
  std::vector<Token> tokens_;
  uint64_t cached_ = 0;
  Lost lost_;
  uint64_t foreign_ = 0;
  std::vector<BlockTable> tables_;  // [groups]
};

}  // namespace tenon
