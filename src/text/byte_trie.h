// Strings of bytes with a number each, walked byte by byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tenon {

/// A trie whose edges lie in one hash table.
class ByteTrie {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr int32_t kNoValue = -1;
  static constexpr uint32_t kRoot = 0;

  ByteTrie() : edges_(64) { from_root_.fill(kNone); }

  /// Enters a string (not empty) with a value >= 0, in place of the value that it had.
  void insert(std::string_view text, int32_t value) {
    uint32_t node = kRoot;
    for (const char c : text) node = child_or_new(node, static_cast<uint8_t>(c));
    values_[node] = value;
  }

  /// The node behind `node` on `byte`, or kNone.
  [[nodiscard]] uint32_t child(uint32_t node, uint8_t byte) const {
    return node == kRoot ? from_root_[byte] : edges_[slot_of(node, byte)].child;
  }
  /// The value of a string, or kNoValue.
  [[nodiscard]] int32_t find(std::string_view text) const {
    uint32_t node = kRoot;
    for (size_t i = 0; i < text.size() && node != kNone; ++i) {
      node = child(node, static_cast<uint8_t>(text[i]));
    }
    return node == kNone ? kNoValue : values_[node];
  }
  /// The value of the string that leads to `node`, or kNoValue.
  [[nodiscard]] int32_t value(uint32_t node) const { return values_[node]; }

 private:
  struct Edge {
    uint64_t key = UINT64_MAX;
    uint32_t child = kNone;
  };

  [[nodiscard]] size_t slot_of(uint32_t node, uint8_t byte) const {
    const uint64_t key = uint64_t{node} << 8 | byte;
    const size_t mask = edges_.size() - 1;
    uint64_t hash = key * 0x9E3779B97F4A7C15u;
    size_t slot = (hash ^ hash >> 32) & mask;
    while (edges_[slot].key != key && edges_[slot].child != kNone) slot = (slot + 1) & mask;
    return slot;
  }

  uint32_t child_or_new(uint32_t node, uint8_t byte) {
    if (const uint32_t known = child(node, byte); known != kNone) return known;
    const auto added = static_cast<uint32_t>(values_.size());
    values_.push_back(kNoValue);
    if (node == kRoot) {
      from_root_[byte] = added;
      return added;
    }
    if (2 * ++num_edges_ > edges_.size()) grow();
    edges_[slot_of(node, byte)] = {uint64_t{node} << 8 | byte, added};
    return added;
  }

  void grow() {
    std::vector<Edge> old(2 * edges_.size());
    old.swap(edges_);
    for (const Edge& edge : old) {
      if (edge.child == kNone) continue;
      edges_[slot_of(static_cast<uint32_t>(edge.key >> 8), static_cast<uint8_t>(edge.key))] = edge;
    }
  }

  std::array<uint32_t, 256> from_root_{};
  std::vector<Edge> edges_;
  size_t num_edges_ = 0;
  std::vector<int32_t> values_{kNoValue};  // [nodes]
};

}  // namespace tenon
