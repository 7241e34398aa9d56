// Sequences of idle sessions, between two calls or in a callback: their blocks may be taken when
// other requests need the memory. Which request needs it is the engine's business.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sequence.h"

namespace tenon {

/// In order of use. Not thread-safe: the engine's lock guards the list and the blocks of what is in
/// it.
class IdleSequences {
 public:
  /// The place of a sequence in the list; kept by the sequence's owner. While it is listed no other
  /// thread may touch the blocks of the sequence.
  struct Entry {
    Sequence* sequence = nullptr;  ///< null: is never listed
    Entry* newer = nullptr;
    Entry* older = nullptr;
    bool listed = false;
  };

  /// Takes an entry out of the list for as long as this lives.
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

  /// From now on it is the one used last. One without blocks is not listed.
  void add(Entry& entry) noexcept;
  /// Nothing happens to one that is not in the list.
  void remove(Entry& entry) noexcept;

  /// Has the sequence used longest ago give up what it can do without, else its last block; it will
  /// be computed again. False: no sequence here has one.
  bool take_block() noexcept;

  /// Blocks of a group that they hold together; one that is shared counts for each.
  [[nodiscard]] uint64_t num_blocks(size_t group) const { return num_blocks_[group]; }
  /// How often a block was taken.
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
