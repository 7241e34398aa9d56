// Finds a string's place in a fixed list by hashing; the list itself stays with its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// An open-addressed index over strings that the caller keeps: 8 bytes per string, no copies.
class StringIndex {
 public:
  /// Room for `count` strings, below 2^31.
  explicit StringIndex(size_t count) {
    size_t slots = 16;
    while (slots < 2 * count) slots *= 2;
    slots_.assign(slots, kFree);
  }

  /// Enters strings[place]. Returns the place that already holds an equal string, if one does.
  std::optional<uint32_t> insert(const std::vector<std::string>& strings, uint32_t place) {
    uint32_t& slot = slots_[find_slot(strings, strings[place])];
    if (slot != kFree) return slot;
    slot = place;
    return std::nullopt;
  }

  [[nodiscard]] std::optional<uint32_t> find(const std::vector<std::string>& strings,
                                             std::string_view text) const {
    const uint32_t place = slots_[find_slot(strings, text)];
    if (place == kFree) return std::nullopt;
    return place;
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  [[nodiscard]] size_t find_slot(const std::vector<std::string>& strings,
                                 std::string_view text) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = std::hash<std::string_view>{}(text)&mask;
    while (slots_[slot] != kFree && strings[slots_[slot]] != text) slot = (slot + 1) & mask;
    return slot;
  }

  std::vector<uint32_t> slots_;
};

}  // namespace tenon
