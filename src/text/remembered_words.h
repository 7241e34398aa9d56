// Words of one text and their tokens, looked up where they came before: scratch of one call.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "text/token_room.h"
#include "text/word_cache.h"

namespace tenon {

class RememberedWords {
 public:
  /// text: of which all words are parts; out: where tokens go. All must outlive it.
  RememberedWords(WordCachePool& caches, std::string_view text, std::vector<Token>& out)
      : cache_(caches), text_begin_(text.data()), out_(out), room_(out, text.size()) {}

  /// Appends the tokens of `word`; what encode() appends where they are not known.
  template <typename Encode>
  void append(std::string_view word, Encode&& encode) {
    room_.need(kWordRoom, begin_of(word));
    if (cache_->append(word, out_)) return;
    const size_t before = out_.size();
    encode();
    cache_->insert(word, std::span(out_).subspan(before));
  }

  /// Where a part of the text begins in it.
  [[nodiscard]] size_t begin_of(std::string_view part) const {
    return static_cast<size_t>(part.data() - text_begin_);
  }
  /// For words that may have many tokens.
  [[nodiscard]] TokenRoom& room() { return room_; }

 private:
  static constexpr size_t kWordRoom = 16;  // tokens of a word that is not long

  WordCachePool::Loan cache_;
  const char* text_begin_;
  std::vector<Token>& out_;
  TokenRoom room_;
};

}  // namespace tenon
