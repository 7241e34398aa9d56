// Caches the tokens of recent words, since language repeats its words.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// A table of fixed size from words to tokens, two words per cache line. One thread at a time.
class WordCache {
 public:
  WordCache() : lines_(kLines) {}

  /// Appends the tokens of `word` (not empty) to `out` if they are cached. kind: below 256; entries
  /// of different kinds are independent.
  bool append(std::string_view word, std::vector<Token>& out, size_t kind = 0) const {
    if (word.size() > kMaxWordBytes) return false;
    const Key key = key_of(word, kind);
    const Line& line = lines_[place(key)];
    for (const Entry& entry : line.entries) {
      if (entry.first != key.first || entry.last != key.last || entry.size != key.size) continue;
      for (uint32_t i = 0; i < entry.num_tokens; ++i) out.push_back(entry.tokens[i]);
      return true;
    }
    return false;
  }

  /// Caches a word and evicts the older of two others. Ignores words that are too long or have too
  /// many tokens.
  void insert(std::string_view word, std::span<const Token> tokens, size_t kind = 0) {
    if (word.size() > kMaxWordBytes || tokens.size() > kMaxTokens) return;
    const Key key = key_of(word, kind);
    Line& line = lines_[place(key)];
    line.entries[1] = line.entries[0];
    Entry& entry = line.entries[0];
    entry.first = key.first;
    entry.last = key.last;
    entry.size = key.size;
    entry.num_tokens = static_cast<uint16_t>(tokens.size());
    std::copy(tokens.begin(), tokens.end(), entry.tokens);
  }

 private:
  static constexpr size_t kLines = 16384;  // 1 MiB: about half of a core's L2 cache
  static constexpr size_t kMaxWordBytes = 16;
  static constexpr size_t kMaxTokens = 3;

  /// Bytes of a word: the first eight and the last eight, which may overlap.
  struct Key {
    uint64_t first = 0;
    uint64_t last = 0;
    uint16_t size = 0;  // low byte: size; high byte: kind; 0 means empty
  };
  struct Entry {
    uint64_t first = 0;
    uint64_t last = 0;
    uint16_t size = 0;
    uint16_t num_tokens = 0;
    Token tokens[kMaxTokens] = {};
  };
  static_assert(sizeof(Entry) == 32);
  struct alignas(64) Line {
    Entry entries[2];
  };

  template <typename Word>
  static Word load(const char* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }

  static Key key_of(std::string_view word, size_t kind) {
    const char* const data = word.data();
    const size_t size = word.size();
    const auto tag = static_cast<uint16_t>(kind << 8 | size);
    if (size >= 8) return {load<uint64_t>(data), load<uint64_t>(data + size - 8), tag};
    if (size >= 4) return {load<uint32_t>(data), load<uint32_t>(data + size - 4), tag};
    if (size >= 2) return {load<uint16_t>(data), load<uint16_t>(data + size - 2), tag};
    return {load<uint8_t>(data), 0, tag};
  }

  [[nodiscard]] size_t place(const Key& key) const {
    uint64_t hash = (key.first + key.size) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32 ^ key.last) * 0xD6E8FEB86659FD93u;
    return (hash ^ hash >> 29) * 0x9E3779B97F4A7C15u >> kShift;
  }

  static constexpr int kShift = 64 - std::countr_zero(kLines);
  std::vector<Line> lines_;
};

/// Lends caches to calls of encode(), so that calls share cached words while tokenizers stay
/// logically immutable. Keeps as many as were in use at once, at most four.
class WordCachePool {
 public:
  /// Borrows a cache for its lifetime.
  class Loan {
   public:
    explicit Loan(WordCachePool& pool) : pool_(pool), cache_(pool.take()) {}
    ~Loan() { pool_.give_back(std::move(cache_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    WordCache* operator->() { return cache_.get(); }

   private:
    WordCachePool& pool_;
    std::unique_ptr<WordCache> cache_;
  };

 private:
  static constexpr size_t kKept = 4;

  std::unique_ptr<WordCache> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto cache = std::move(free_.back());
        free_.pop_back();
        return cache;
      }
    }
    return std::make_unique<WordCache>();
  }
  void give_back(std::unique_ptr<WordCache> cache) noexcept {
    const std::lock_guard lock(mutex_);
    if (free_.size() < free_.capacity()) free_.push_back(std::move(cache));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<WordCache>> free_ = [] {
    std::vector<std::unique_ptr<WordCache>> room;
    room.reserve(kKept);  // returning a cache must not allocate
    return room;
  }();
};

}  // namespace tenon
