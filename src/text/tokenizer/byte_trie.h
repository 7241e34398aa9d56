// Maps byte strings to numbers; walked byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// A trie in one array (a double array): the child of a node on a byte is at the node's base XOR
/// the byte. Immutable.
class ByteTrie {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr int32_t kNoValue = -1;
  static constexpr uint32_t kRoot = 0;

  /// Collects the strings of a trie.
  class Builder {
   public:
    /// Adds a non-empty string with a value >= 0; replaces an earlier value.
    void insert(std::string_view text, int32_t value);
    [[nodiscard]] ByteTrie build() const;

   private:
    struct Entry {
      size_t begin;
      size_t size;
      int32_t value;
    };
    std::string bytes_;  // all strings, end to end
    std::vector<Entry> entries_;
  };

  /// Makes a trie without strings.
  ByteTrie() : units_(kBlock) { units_[kRoot].parent = kNoParent; }

  /// The child of `node` on `byte`, or kNone.
  [[nodiscard]] uint32_t child(uint32_t node, uint8_t byte) const {
    const uint32_t at = units_[node].base ^ byte;
    return units_[at].parent == node ? at : kNone;
  }
  /// The value of the string ending at `node`, or kNoValue.
  [[nodiscard]] int32_t value(uint32_t node) const { return units_[node].value; }
  /// The value of a string, or kNoValue.
  [[nodiscard]] int32_t find(std::string_view text) const {
    uint32_t node = kRoot;
    for (size_t i = 0; i < text.size() && node != kNone; ++i) {
      node = child(node, static_cast<uint8_t>(text[i]));
    }
    return node == kNone ? kNoValue : value(node);
  }

 private:
  static constexpr size_t kBlock = 256;  // units within reach of one base
  static constexpr uint32_t kFree = UINT32_MAX;
  static constexpr uint32_t kNoParent = UINT32_MAX - 1;

  struct Unit {
    uint32_t base = 0;  // any value in leaves
    uint32_t parent = kFree;
    int32_t value = kNoValue;
  };
  class Places;

  std::vector<Unit> units_;  // blocks of kBlock
};

}  // namespace tenon
