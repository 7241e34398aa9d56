// Turns the words of one text into tokens, looking up those that came before: scratch of one call.
//
//   CachedWords words(system(), caches_, text, out);
//   words.append(word, [&] { encode(word, out); });  // encode() only where the word is not known
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
  /// text: of which all words are parts (where `begin` is given, its length alone counts); out:
  /// where tokens go. All must outlive it.
  CachedWords(System& system, WordCachePool& caches, std::string_view text, std::vector<Token>& out)
      : cache_(caches), text_begin_(text.data()), buffer_(system, out, text.size()) {}

  /// Appends the tokens of `word`; what encode() appends where they are not known.
  template <typename Encode>
  void append(std::string_view word, Encode&& encode) {
    append(word, begin_of(word), encode);
  }
  /// The same for a word that is no part of the text: `begin` bytes of it are done.
  template <typename Encode>
  void append(std::string_view word, size_t begin, Encode&& encode) {
    if (recall(word, begin)) return;
    const size_t before = buffer_.tokens().size();
    encode();
    remember(word, before);
  }

  /// Appends the tokens of `word` where they are known. kind: as in WordCache.
  bool recall(std::string_view word, size_t begin, size_t kind = 0) {
    buffer_.reserve(kWordTokens, begin);
    return cache_->append(word, buffer_.tokens(), kind);
  }
  /// Takes note that `word` became the tokens from number `before` on.
  void remember(std::string_view word, size_t before, size_t kind = 0) {
    cache_->insert(word, std::span(buffer_.tokens()).subspan(before), kind);
  }

  /// Where a part of the text begins in it.
  [[nodiscard]] size_t begin_of(std::string_view part) const {
    return static_cast<size_t>(part.data() - text_begin_);
  }
  /// For words that may have many tokens.
  [[nodiscard]] TokenBuffer& buffer() { return buffer_; }

 private:
  static constexpr size_t kWordTokens = 16;  // of a word that is not long

  WordCachePool::Loan cache_;
  const char* text_begin_;
  TokenBuffer buffer_;
};

}  // namespace tenon
