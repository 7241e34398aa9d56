// Remembers the tokens of words met lately in one text, because language repeats its words.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace tenon {

/// A small direct-mapped table from words to their tokens. It belongs to one call of encode(), so
/// that tokenizers stay immutable.
class WordCache {
 public:
  /// For a text of that many bytes: a short one gets no table, for which clearing it would not pay.
  explicit WordCache(size_t text_bytes) {
    if (text_bytes >= kWorthwhileBytes) entries_.resize(kEntries);
  }

  /// The tokens of `word` if it is remembered. Valid until the next insert().
  [[nodiscard]] std::optional<std::span<const Token>> find(std::string_view word) const {
    if (entries_.empty() || word.size() > kMaxWordBytes) return std::nullopt;
    const Entry& entry = entries_[place(word)];
    if (entry.size != word.size() ||
        std::memcmp(entry.word.data(), word.data(), word.size()) != 0) {
      return std::nullopt;
    }
    return std::span(entry.tokens.data(), entry.num_tokens);
  }

  /// Remembers a word (not empty) in place of another, if both it and its tokens are few enough.
  void insert(std::string_view word, std::span<const Token> tokens) {
    if (entries_.empty() || word.size() > kMaxWordBytes || tokens.size() > kMaxTokens) return;
    Entry& entry = entries_[place(word)];
    entry.size = static_cast<uint8_t>(word.size());
    entry.num_tokens = static_cast<uint8_t>(tokens.size());
    std::memcpy(entry.word.data(), word.data(), word.size());
    std::copy(tokens.begin(), tokens.end(), entry.tokens.begin());
  }

 private:
  static constexpr size_t kWorthwhileBytes = 2048;
  static constexpr size_t kEntries = 8192;  // 512 KiB: about half of a core's L2 cache
  static constexpr size_t kMaxWordBytes = 22;
  static constexpr size_t kMaxTokens = 10;

  struct alignas(64) Entry {  // one cache line
    uint8_t size = 0;         // bytes of the word; 0: free
    uint8_t num_tokens = 0;
    std::array<char, kMaxWordBytes> word{};
    std::array<Token, kMaxTokens> tokens{};
  };
  static_assert(sizeof(Entry) == 64);

  static size_t place(std::string_view word) {
    return std::hash<std::string_view>{}(word) % kEntries;
  }

  std::vector<Entry> entries_;
};

}  // namespace tenon
