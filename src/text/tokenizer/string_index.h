// Finds the index of a string in a fixed list by hashing; the list stays with its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace tenon {

/// An open-addressed index over the caller's strings, a vector or a StringList: at least 16 bytes
/// per string, no copies. Hashes depend on the index's address, so that no file can make all of
/// them collide.
class StringIndex {
 public:
  /// Reserves for `count` strings, below 2^31.
  explicit StringIndex(size_t count) {
    size_t slots = 16;
    while (slots < 2 * count) slots *= 2;
    slots_.resize(slots);
    seed_ = reinterpret_cast<uintptr_t>(slots_.data());
  }

  /// Adds strings[place]. Returns the place of an equal string if it was added before.
  template <typename Strings>
  std::optional<uint32_t> insert(const Strings& strings, uint32_t place) {
    const size_t hash = hash_of(strings[place]);
    Slot& slot = slots_[find_slot(strings, strings[place], hash)];
    if (slot.place != kFree) return slot.place;
    slot = {place, tag_of(hash)};
    return std::nullopt;
  }

  template <typename Strings>
  [[nodiscard]] std::optional<uint32_t> find(const Strings& strings, std::string_view text) const {
    const uint32_t place = slots_[find_slot(strings, text, hash_of(text))].place;
    if (place == kFree) return std::nullopt;
    return place;
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  struct Slot {
    uint32_t place = kFree;
    uint32_t tag = 0;  // part of the hash; avoids most comparisons of unequal strings
  };

  [[nodiscard]] size_t hash_of(std::string_view text) const {
    return hash_bytes(std::as_bytes(std::span(text)), seed_).low;
  }
  static uint32_t tag_of(size_t hash) { return static_cast<uint32_t>(hash >> 32); }

  template <typename Strings>
  [[nodiscard]] size_t find_slot(const Strings& strings, std::string_view text, size_t hash) const {
    const size_t mask = slots_.size() - 1;
    const uint32_t tag = tag_of(hash);
    size_t at = hash & mask;
    while (slots_[at].place != kFree &&
           (slots_[at].tag != tag || strings[slots_[at].place] != text)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  std::vector<Slot> slots_;
  uint64_t seed_ = 0;
};

}  // namespace tenon
