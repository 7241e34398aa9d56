// Encodes the words of one text and reuses the tokens of repeated words. Scratch of one call.
//
//   CachedWords words(system(), caches_, text, out);
//   words.append(word, [&] { encode(word, out); });  // calls encode() only for unknown words
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer/token_buffer.h"
#include "text/tokenizer/word_cache.h"

namespace tenon {

class CachedWords {
 public:
  /// text: contains all words (if `begin` is given, only its length counts). out: receives the
  /// tokens. All must outlive the object.
  CachedWords(System& system, WordCachePool& caches, std::string_view text, std::vector<Token>& out)
      : cache_(caches), text_begin_(text.data()), buffer_(system, out, text.size()) {}

  /// Appends the cached tokens of `word`; for an unknown word, encode() appends them.
  template <typename Encode>
  void append(std::string_view word, Encode&& encode) {
    append(word, begin_of(word), encode);
  }
  /// Like append() above, for a word outside the text; `begin` bytes of the text are done.
  template <typename Encode>
  void append(std::string_view word, size_t begin, Encode&& encode) {
    if (recall(word, begin)) return;
    const size_t before = buffer_.tokens().size();
    encode();
    remember(word, before);
  }

  /// Appends the tokens of `word` if they are cached. kind: as in WordCache.
  bool recall(std::string_view word, size_t begin, size_t kind = 0) {
    buffer_.reserve(kWordTokens, begin);
    return cache_->append(word, buffer_.tokens(), kind);
  }
  /// Caches the tokens from index `before` on as those of `word`.
  void remember(std::string_view word, size_t before, size_t kind = 0) {
    cache_->insert(word, std::span(buffer_.tokens()).subspan(before), kind);
  }

  /// Offset of a part of the text.
  [[nodiscard]] size_t begin_of(std::string_view part) const {
    return static_cast<size_t>(part.data() - text_begin_);
  }
  /// The buffer, for words with many tokens.
  [[nodiscard]] TokenBuffer& buffer() { return buffer_; }

 private:
  static constexpr size_t kWordTokens = 16;  // enough for most words

  WordCachePool::Loan cache_;
  const char* text_begin_;
  TokenBuffer buffer_;
};

}  // namespace tenon
