// Finds the tokens that are matched in raw text before anything else. Callers choose these tokens.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// A set of strings, each with its token. Searches in time linear in the text for any strings.
class SpecialMatcher {
 public:
  struct Entry {
    std::string_view text;  ///< not empty; only read by the constructor
    Token token;
  };
  /// Match: bytes [begin, begin + size) of the text spell `token`.
  struct Found {
    uint32_t begin;
    uint32_t size;
    Token token;
  };

  /// Limit for all strings together: each byte may take a hundred bytes of automaton.
  static constexpr size_t kMaxBytes = size_t{4} << 20;

  /// Builds the automaton. Throws Limit beyond kMaxBytes.
  explicit SpecialMatcher(std::span<const Entry> entries);

  [[nodiscard]] bool empty() const { return states_.size() == 1; }

  /// Calls on_found(found) for all matches in `text` (below 2^32 bytes), left to right and
  /// disjoint: the earliest start, then the longest, and so on after it.
  template <typename OnFound>
  void find_each(std::string_view text, OnFound&& on_found) const {
    if (empty()) return;
    // Bytes beyond a block, up to the longest string, are read twice.
    const size_t block = std::max(kBlockBytes, 4 * longest_);
    std::vector<Found> starting;
    uint64_t free_from = 0;
    for (size_t begin = 0; begin < text.size(); begin += block) {
      find_starting(text, begin, std::min(begin + block, text.size()), starting);
      for (size_t i = starting.size(); i-- > 0;) {
        if (starting[i].begin < free_from) continue;
        free_from = uint64_t{starting[i].begin} + starting[i].size;
        on_found(starting[i]);
      }
    }
  }
  /// All matches as a list.
  [[nodiscard]] std::vector<Found> find_all(std::string_view text) const;

 private:
  static constexpr size_t kBlockBytes = 65536;

  // An Aho-Corasick automaton over the reversed strings. Reading the text backwards finds the
  // longest string that *starts* at each position on arrival. This makes "earliest, then longest"
  // linear even for strings like "a" and "aaaa...b".
  struct State {
    uint32_t fallback = 0;  // the state of the longest proper suffix
    uint32_t size = 0;      // bytes of the longest string that ends here; 0 means none
    Token token = 0;
  };

  static uint64_t edge(uint32_t state, uint8_t byte) { return uint64_t{state} << 8 | byte; }
  [[nodiscard]] uint32_t next_state(uint32_t state, uint8_t byte) const;
  /// Finds the longest match starting at each byte of [begin, end), if any, in descending order.
  void find_starting(std::string_view text, size_t begin, size_t end,
                     std::vector<Found>& out) const;

  std::vector<State> states_{1};
  size_t longest_ = 0;                     // bytes of the longest string
  std::array<uint32_t, 256> from_root_{};  // 0 means none
  std::unordered_map<uint64_t, uint32_t> edges_;
};

}  // namespace tenon
