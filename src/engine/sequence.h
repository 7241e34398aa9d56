// A sequence of tokens and the cache of its computed prefix, in every group. The engine computes
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "kv/cache_table.h"
#include "kv/cross_table.h"
#include "kv/prefix_index.h"
#include "model/adapter_bank.h"
#include "model/program_runner.h"
#include "model/tower.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Tokens [0, cached) are computed; later tokens are pending. Going back may make more tokens
/// pending than asked for: a window keeps only its last blocks, a state only its checkpoints.
///
/// Steps under way compute [cached, begun). A step may compute one token past the end of the text:
/// the token drawn by the step before, which is appended once it is known.
class Sequence {
 public:
  /// Makes an empty sequence with room for `context` tokens.
  ///   pools  one per KV group of the program
  ///   root   root of its texts in the prefix index (PrefixIndex::root)
  Sequence(std::span<const std::shared_ptr<BlockPool>> pools, uint32_t context, Hash128 root = {});
  Sequence(Sequence&&) = default;

  /// Makes a sequence with the same tokens, sharing the blocks.
  [[nodiscard]] Sequence fork() const;

  /// Sets the adapters of all tokens, and the root of its texts with them. Requires that there are
  /// no tokens.
  void set_adapter(std::shared_ptr<const AdapterLease> adapter, const Hash128& root) noexcept {
    adapter_ = std::move(adapter);
    root_ = root;
    keys_.clear();
  }
  /// Slot of its adapters in the model's bank; null for none.
  [[nodiscard]] const std::shared_ptr<const AdapterLease>& adapter() const { return adapter_; }

  /// Replaces the text that an encoder reads. Throws std::bad_alloc; nothing changes then.
  void set_source(std::span<const Token> tokens);
  [[nodiscard]] std::span<const Token> source() const {
    return source_ != nullptr ? std::span<const Token>(*source_) : std::span<const Token>();
  }
  /// Table of the source's cache; null if the program has none.
  [[nodiscard]] CrossTable* cross_table() const { return cross_; }

  /// Adds pending tokens. Throws Limit "tokens N > context M".
  void append(std::span<const Token> tokens);
  /// Adds pending tokens of a picture, and its rows in place of those that they stand for. Throws as
  /// append(), and std::bad_alloc; nothing changes then.
  void append(const PictureText& text, const std::shared_ptr<const EncodedPicture>& picture);
  /// True if rows of a picture stand in the text.
  [[nodiscard]] bool has_pictures() const { return !pictures_.empty(); }
  /// Rows of pictures, in order; their tokens do not tell them apart.
  [[nodiscard]] std::span<const RowsInText> picture_rows() const { return rows_; }
  /// Drops the tokens from `size` <= size() on.
  void truncate(uint64_t size) noexcept;
  /// Makes the tokens from `size` <= cached() on pending again, and earlier tokens back to a
  /// position from which it can continue.
  void forget_cached(uint64_t size) noexcept;
  /// Like forget_cached(), counted as memory lost to others.
  void lose(uint64_t size) noexcept;
  /// Gives up a spare checkpoint, else the last block. Requires a block.
  void lose_block() noexcept;
  /// Gives back a spare checkpoint. Returns false if it has none.
  bool drop_spare() noexcept;
  void swap(Sequence& other) noexcept;

  [[nodiscard]] std::span<const Token> tokens() const { return tokens_; }
  [[nodiscard]] uint64_t size() const { return tokens_.size(); }
  [[nodiscard]] uint32_t context() const { return context_; }
  [[nodiscard]] uint64_t cached() const { return cached_; }
  /// Number of tokens computed once the steps under way have ended.
  [[nodiscard]] uint64_t begun() const { return begun_; }
  [[nodiscard]] uint64_t num_pending() const { return tokens_.size() - cached_; }
  /// Tokens that were computed and lost, until they are computed again.
  struct Lost {
    uint64_t positions = 0;  ///< [0, positions)
    PrefixMiss::Cause cause = PrefixMiss::Cause::None;
  };
  [[nodiscard]] const Lost& lost() const { return lost_; }
  void set_lost(const Lost& lost) noexcept { lost_ = lost; }

  // For the engine only, while it holds the device's turn.

  /// Number of tokens, at most `count`, in the next slice from begun() on. A slice ends where a
  /// table keeps a checkpoint.
  [[nodiscard]] uint32_t slice_limit(uint32_t count) const;
  /// slice_limit() of a slice that ends with guesses. With a state it ends with the block, too, so
  /// that its tokens, if they come again, stop nowhere.
  [[nodiscard]] uint32_t guess_limit(uint32_t count) const;
  /// Gives back blocks that neither pending tokens nor steps under way see.
  void trim() noexcept;
  /// Allocates blocks for the next `count` tokens from begun() on. Throws NoMemory; nothing changes
  /// then.
  void prepare(uint32_t count);
  /// The next prepared tokens from begun() on as a step's slice, with rows wanted for the last
  /// `num_outputs`. The token after the text is drawn by the step before.
  ///   tables  [out] arrays that the slice points to
  ///   guesses  prepared tokens after the end of the text
  [[nodiscard]] StepSlice next_slice(uint32_t num_tokens, uint32_t num_outputs,
                                     std::vector<const uint32_t*>& tables,
                                     std::span<const Token> guesses = {}) const;
  /// Marks the next `count` tokens as being in a step.
  void begin(uint32_t count) noexcept { begun_ += count; }
  /// Marks the first `count` tokens under way as computed.
  ///   size  tokens of the text when the slice was begun: they tell where it had to stop
  void commit(uint32_t count, uint64_t size) noexcept;
  /// Ends a slice of `count` tokens and guesses, of which the first `num_right` continue the text,
  /// and frees what the others computed. A recurrent state holds all tokens of its slice: if a
  /// guess was wrong it is dropped, and the tokens of the slice are pending again.
  void commit_guessed(uint32_t count, uint32_t num_right, uint64_t size) noexcept;
  /// True if the sequence can continue from any of its last positions.
  [[nodiscard]] bool can_go_back() const;
  /// Ends a slice whose first token ends the text, and keeps what was computed for the guesses
  /// after it: tokens appended later claim it. Requires can_go_back().
  void commit_ahead(std::span<const Token> guesses) noexcept;
  /// Marks pending tokens as computed that were guessed; drops what other tokens contradict.
  void claim_ahead() noexcept;
  /// Discards the tokens under way and frees their blocks.
  void roll_back() noexcept;
  /// Moves blocks to free slabs for other groups. Throws the device's errors.
  void compact();
  /// [groups]
  [[nodiscard]] std::span<const std::unique_ptr<CacheTable>> tables() const { return tables_; }
  [[nodiscard]] bool holds_blocks() const;
  /// Positions per block.
  [[nodiscard]] uint32_t block_tokens() const;

  /// Keys of the first `count` full blocks of the text. Throws std::bad_alloc.
  std::span<const Hash128> keys(const PrefixIndex& index, uint64_t count);
  [[nodiscard]] Hash128 root() const { return root_; }
  /// Adopts blocks of the index up to the last of `keys`, as far as the sequence can continue from
  /// them. Throws std::bad_alloc; nothing changes then.
  void adopt(const PrefixIndex& index, std::span<const Hash128> keys);
  /// Replaces its own blocks number `index` by equal blocks [groups], for groups that have them.
  void adopt_same(uint64_t index, std::span<const uint32_t> blocks) noexcept;
  /// Position of a snapshot: the last end of a block that all groups hold; any position in models
  /// with states only.
  [[nodiscard]] uint64_t snapshot_position() const;
  /// Marks positions before `size` as restored: computed outside this engine. They must not be
  /// shared with other sequences, because only their provider vouches for them.
  void set_restored(uint64_t size) noexcept {
    set_cached(size);
    foreign_ = size;
  }
  [[nodiscard]] bool has_foreign() const { return foreign_ > 0; }
  /// Positions whose full blocks the prefix index was offered, at most cached().
  [[nodiscard]] uint64_t offered() const { return offered_; }
  void set_offered(uint64_t size) noexcept { offered_ = size; }

 private:
  Sequence(uint32_t context, Hash128 root) : context_(context), root_(root) {}
  void set_cached(uint64_t size) noexcept;
  [[nodiscard]] Hash128 with_pictures(const Hash128& key, uint64_t begin, uint64_t end) const;
  void find_cross_table() noexcept;
  /// Last position up to `size`, a multiple of `multiple`, from which all tables can continue.
  [[nodiscard]] uint64_t resumable(uint64_t size, uint32_t multiple) const;

  uint32_t context_;
  Hash128 root_;
  std::vector<Hash128> keys_;  // keys of the first full blocks, computed on demand
  std::vector<Token> tokens_;
  std::vector<RowsInText> rows_;                                 // of pictures, in order
  std::vector<std::shared_ptr<const EncodedPicture>> pictures_;  // [rows_] to which they belong
  uint64_t cached_ = 0;
  uint64_t begun_ = 0;        // at least cached_
  std::vector<Token> ahead_;  // guesses computed at positions from cached_ on
  Lost lost_;
  uint64_t foreign_ = 0;
  uint64_t offered_ = 0;
  std::vector<std::unique_ptr<CacheTable>> tables_;  // [groups]
  CrossTable* cross_ = nullptr;                      // points into tables_; may be null
  std::shared_ptr<const std::vector<Token>> source_;
  std::shared_ptr<const AdapterLease> adapter_;
};

}  // namespace tenon
