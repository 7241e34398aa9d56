// A sequence of tokens and the cache computed for its beginning, in every group. Who computes, and
// when, is the engine's business.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/hash.h"
#include "kv/cache_table.h"
#include "kv/cross_table.h"
#include "kv/prefix_index.h"
#include "model/program_runner.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// The tokens [0, cached) are computed; the later ones are pending. Going back may make more tokens
/// pending than asked for: a window has only its last blocks, a state only its checkpoints.
///
/// Steps under way compute [cached, begun). A step may compute one token more than there are: the one
/// that the step before it draws, which is appended when it is known.
class Sequence {
 public:
  /// An empty sequence with room for `context` tokens.
  ///   pools  one for each KV group of the program
  ///   root   of the texts that it may share blocks with (PrefixIndex::root)
  Sequence(std::span<const std::shared_ptr<BlockPool>> pools, uint32_t context, Hash128 root = {});
  Sequence(Sequence&&) = default;

  /// The same tokens over the same blocks.
  [[nodiscard]] Sequence fork() const;

  /// The text that an encoder reads before the first token, in place of another one. Throws
  /// std::bad_alloc; nothing is then changed.
  void set_source(std::span<const Token> tokens);
  [[nodiscard]] std::span<const Token> source() const {
    return source_ != nullptr ? std::span<const Token>(*source_) : std::span<const Token>();
  }
  /// Of the groups of a source; null: the program has none.
  [[nodiscard]] CrossTable* cross_table() const { return cross_; }

  /// Adds pending tokens. Throws Limit "tokens N > context M".
  void append(std::span<const Token> tokens);
  /// Drops the tokens from `size` <= size() on.
  void truncate(uint64_t size) noexcept;
  /// Makes the tokens from `size` <= cached() on pending again, and those before them from which it
  /// cannot go on.
  void forget_cached(uint64_t size) noexcept;
  /// The same because others need the memory.
  void lose(uint64_t size) noexcept;
  /// Loses something that it can do without, or what the last block holds. It has a block.
  void lose_block() noexcept;
  /// Gives back something that it can do without; false: there is no such thing.
  bool drop_spare() noexcept;
  void swap(Sequence& other) noexcept;

  [[nodiscard]] std::span<const Token> tokens() const { return tokens_; }
  [[nodiscard]] uint64_t size() const { return tokens_.size(); }
  [[nodiscard]] uint32_t context() const { return context_; }
  [[nodiscard]] uint64_t cached() const { return cached_; }
  /// Tokens that are computed when the steps under way have ended.
  [[nodiscard]] uint64_t begun() const { return begun_; }
  [[nodiscard]] uint64_t num_pending() const { return tokens_.size() - cached_; }
  /// What was computed before and is so no more, until it is computed again.
  struct Lost {
    uint64_t positions = 0;  ///< [0, positions)
    PrefixMiss::Cause cause = PrefixMiss::Cause::None;
  };
  [[nodiscard]] const Lost& lost() const { return lost_; }
  void set_lost(const Lost& lost) noexcept { lost_ = lost; }

  // For the engine, between taking the device's turn and giving it back.

  /// How many of the next `count` tokens from begun() on the next slice may have: it ends where a
  /// table wants to keep what it has then.
  [[nodiscard]] uint32_t slice_limit(uint32_t count) const;
  /// Gives back what neither the pending tokens nor steps under way see.
  void trim() noexcept;
  /// Makes room for the next `count` tokens from begun() on. Throws NoMemory; nothing is then
  /// changed.
  void prepare(uint32_t count);
  /// The next tokens from begun() on, prepared, as a step takes them; the rows of the last
  /// `num_outputs` are wanted. The token after the text is what the step before draws.
  ///   tables  [out] what the slice points to
  [[nodiscard]] StepSlice next_slice(uint32_t num_tokens, uint32_t num_outputs,
                                     std::vector<const uint32_t*>& tables) const;
  /// They are in a step.
  void begin(uint32_t count) noexcept { begun_ += count; }
  /// The first `count` tokens under way are computed.
  void commit(uint32_t count) noexcept;
  /// None of those under way is: gives their blocks back.
  void roll_back() noexcept;
  /// Moves blocks to where they leave room for other groups. Throws what the device throws.
  void compact();
  /// [groups]
  [[nodiscard]] std::span<const std::unique_ptr<CacheTable>> tables() const { return tables_; }
  [[nodiscard]] bool holds_blocks() const;
  /// Positions in a block.
  [[nodiscard]] uint32_t block_tokens() const;

  /// The keys of the first `count` full blocks of the text. Throws std::bad_alloc.
  std::span<const Hash128> keys(const PrefixIndex& index, uint64_t count);
  [[nodiscard]] Hash128 root() const { return root_; }
  /// Takes what the index has of the text up to the last of `keys`, from where it can go on.
  /// Throws std::bad_alloc; nothing is then changed.
  void adopt(const PrefixIndex& index, std::span<const Hash128> keys);
  /// Takes blocks [groups] with the contents of its own number `index`, where there are any.
  void adopt_same(uint64_t index, std::span<const uint32_t> blocks) noexcept;
  /// Positions up to which all groups have what a snapshot takes: the ends of blocks, but for
  /// models that have states only.
  [[nodiscard]] uint64_t snapshot_position() const;
  /// Its tables were given the positions up to here, which were not computed in this engine: they
  /// must not reach other sequences, as they are as good as those who brought them.
  void set_restored(uint64_t size) noexcept {
    set_cached(size);
    foreign_ = size;
  }
  [[nodiscard]] bool has_foreign() const { return foreign_ > 0; }

 private:
  Sequence(uint32_t context, Hash128 root) : context_(context), root_(root) {}
  void set_cached(uint64_t size) noexcept;
  void find_cross_table() noexcept;
  /// The last position up to `size`, a multiple of `multiple`, from which all tables can go on.
  [[nodiscard]] uint64_t resumable(uint64_t size, uint32_t multiple) const;

  uint32_t context_;
  Hash128 root_;
  std::vector<Hash128> keys_;  // of the first full blocks, as far as they were wanted
  std::vector<Token> tokens_;
  uint64_t cached_ = 0;
  uint64_t begun_ = 0;  // at least cached_
  Lost lost_;
  uint64_t foreign_ = 0;
  std::vector<std::unique_ptr<CacheTable>> tables_;  // [groups]
  CrossTable* cross_ = nullptr;                      // of tables_
  std::shared_ptr<const std::vector<Token>> source_;
};

}  // namespace tenon
