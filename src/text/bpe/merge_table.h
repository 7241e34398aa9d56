// Maps pairs of neighbouring symbols to their merged token and rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Element of a text during merging: a token (>= 0), or the complement (~) of a code point or byte
/// without a token.
using Symbol = int32_t;

/// Merge of a pair. Lower ranks go first, equal ranks from left to right.
struct Merge {
  static constexpr uint32_t kNoRank = UINT32_MAX;
  uint32_t rank = kNoRank;
  Symbol result = 0;
};

/// A hash table from pairs of symbols to merges, built once. Hashes depend on its address, so that
/// no file can make all of them collide.
class MergeTable {
 public:
  /// Reserves for `count` merges.
  explicit MergeTable(size_t count) {
    size_t slots = 16;
    while (slots < 2 * count) slots *= 2;
    slots_.resize(slots);
    shift_ = 64 - __builtin_ctzll(slots);
    seed_ = reinterpret_cast<uintptr_t>(slots_.data()) * 0x9E3779B97F4A7C15u;
  }

  /// Adds a merge; false, without a change, if the pair has one.
  bool insert(Symbol left, Symbol right, Merge merge) {
    Slot& slot = slots_[find_slot(left, right)];
    if (slot.merge.rank != Merge::kNoRank) return false;
    slot = {left, right, merge};
    return true;
  }

  /// Adds a merge, or replaces that of the pair.
  void replace(Symbol left, Symbol right, Merge merge) {
    slots_[find_slot(left, right)] = {left, right, merge};
  }

  /// The merge of a pair; its rank is kNoRank if there is none.
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
