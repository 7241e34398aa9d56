// Which two neighbouring symbols merge into which token, and how urgently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// What a text consists of while it is being merged: a token (>= 0), or something that is no token,
/// as the complement (~) of a code point or byte.
using Symbol = int32_t;

/// What a pair of symbols becomes. Lower ranks go first; equal ranks from left to right.
struct Merge {
  static constexpr uint32_t kNoRank = UINT32_MAX;
  uint32_t rank = kNoRank;
  Symbol result = 0;
};

/// A hash table from pairs of symbols to merges, built once. Hashes depend on where it lies in
/// memory, so that a file cannot be made in which they are all the same.
class MergeTable {
 public:
  /// Room for `count` merges.
  explicit MergeTable(size_t count) {
    size_t slots = 16;
    while (slots < 2 * count) slots *= 2;
    slots_.resize(slots);
    shift_ = 64 - __builtin_ctzll(slots);
    seed_ = reinterpret_cast<uintptr_t>(slots_.data()) * 0x9E3779B97F4A7C15u;
  }

  /// Enters a merge; false, changing nothing, when the pair is there already.
  bool insert(Symbol left, Symbol right, Merge merge) {
    Slot& slot = slots_[find_slot(left, right)];
    if (slot.merge.rank != Merge::kNoRank) return false;
    slot = {left, right, merge};
    return true;
  }

  /// Enters a merge in place of the one that the pair has.
  void replace(Symbol left, Symbol right, Merge merge) {
    slots_[find_slot(left, right)] = {left, right, merge};
  }

  /// The merge of a pair; rank kNoRank when there is none.
  [[nodiscard]] Merge find(Symbol left, Symbol right) const {
    return slots_[find_slot(left, right)].merge;
  }

 private:
  struct Slot {
    Symbol left = 0;
    Symbol right = 0;
    Merge merge;
  };

  [[nodiscard]] size_t find_slot(Symbol left, Symbol right) const {
    const uint64_t key = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
    // Fibonacci hashing; the top bits of the product depend on all bits of the key.
    uint64_t hash = (key ^ key >> 29 ^ seed_) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
    const size_t mask = slots_.size() - 1;
    size_t slot = hash >> shift_;
    while (slots_[slot].merge.rank != Merge::kNoRank &&
           (slots_[slot].left != left || slots_[slot].right != right)) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  std::vector<Slot> slots_;
  int shift_ = 0;
  uint64_t seed_ = 0;
};

}  // namespace tenon
