// Sequences of idle sessions, between calls or in a callback. The engine takes their blocks when
// requests need the memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sequence.h"

namespace tenon {

/// Ordered by last use. Not thread-safe: the engine's lock guards the list and the blocks of listed
/// sequences.
class IdleSequences {
 public:
  /// List entry of a sequence; owned by the sequence's owner. No other thread may touch the blocks
  /// of a listed sequence.
  struct Entry {
    Sequence* sequence = nullptr;  ///< null: never listed
    Entry* newer = nullptr;
    Entry* older = nullptr;
    bool listed = false;
  };

  /// Removes an entry from the list for its own lifetime.
  class Away {
   public:
    Away(IdleSequences& idle, Entry& entry) : idle_(idle), entry_(entry) { idle_.remove(entry_); }
    ~Away() { idle_.add(entry_); }
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;

   private:
    IdleSequences& idle_;
    Entry& entry_;
  };

  explicit IdleSequences(size_t num_groups) : num_blocks_(num_groups) {}

  /// Adds an entry as the most recently used. Sequences without blocks are not listed.
  void add(Entry& entry) noexcept;
  /// Removes an entry; does nothing if it is not listed.
  void remove(Entry& entry) noexcept;

  /// Makes the least recently used sequence give up a spare checkpoint, else its last block, which
  /// is computed again later. Returns false if no sequence has a block.
  bool take_block() noexcept;

  /// Blocks of a group held by all listed sequences; a shared block counts once per sequence.
  [[nodiscard]] uint64_t num_blocks(size_t group) const { return num_blocks_[group]; }
  /// Number of blocks taken.
  [[nodiscard]] uint64_t num_taken() const { return num_taken_; }

 private:
  void unlink(Entry& entry) noexcept;
  void count(const Sequence& sequence, bool more) noexcept;

  Entry* newest_ = nullptr;
  Entry* oldest_ = nullptr;
  std::vector<uint64_t> num_blocks_;  // [groups]
  uint64_t num_taken_ = 0;
};

}  // namespace tenon
