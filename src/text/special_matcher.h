// Finds tokens that are matched in raw text before anything else; what is one is decided elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/vocabulary.h"

namespace tenon {

/// A set of strings, each with its token, and a search for them in time linear in the text whatever
/// the strings are.
class SpecialMatcher {
 public:
  struct Entry {
    std::string_view text;  ///< not empty; only read by the constructor
    Token token;
  };
  /// Bytes [begin, begin + size) of the text spell `token`.
  struct Found {
    uint32_t begin;
    uint32_t size;
    Token token;
  };

  explicit SpecialMatcher(std::span<const Entry> entries);

  [[nodiscard]] bool empty() const { return states_.size() == 1; }

  /// The matches in `text` (below 2^32 bytes) from left to right, not overlapping: of those that
  /// start earliest, the longest, and so on behind it.
  [[nodiscard]] std::vector<Found> find_all(std::string_view text) const;

 private:
  // An Aho-Corasick automaton over the strings reversed. Reading a text backwards, the longest
  // string that *starts* at a position is known when the position is reached, which makes
  // "earliest, then longest" linear even for strings like "a" and "aaaa...b".
  struct State {
    uint32_t fallback = 0;  // the state of the longest proper suffix
    uint32_t size = 0;      // of the longest string that ends here, 0 for none
    Token token = 0;
  };

  static uint64_t edge(uint32_t state, uint8_t byte) { return uint64_t{state} << 8 | byte; }
  [[nodiscard]] uint32_t next_state(uint32_t state, uint8_t byte) const;

  std::vector<State> states_{1};
  std::array<uint32_t, 256> from_root_{};  // 0: none
  std::unordered_map<uint64_t, uint32_t> edges_;
};

}  // namespace tenon
