// Tokenizes stretches of one text over characters, word by word. Scratch of one call.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "text/bpe/char_source.h"
#include "text/tokenizer/cached_words.h"
#include "text/tokenizer/word_boundaries.h"

namespace tenon {

/// All arguments must outlive it.
class CharWords {
 public:
  /// words: created for the text of the whole call.
  CharWords(const CharMerging& merging, const WordBoundaries& boundaries, CachedWords& words)
      : merging_(merging), boundaries_(boundaries), words_(words) {}

  /// Appends the tokens of `stretch`, a part of the text. prefix: adds a space before it.
  void append(std::string_view stretch, bool prefix) {
    for (size_t begin = 0; begin < stretch.size();) {
      const size_t end = boundaries_.next(stretch, begin);
      const std::string_view word = stretch.substr(begin, end - begin);
      begin = end;
      if (std::exchange(prefix, false)) {
        append_merged(word, true);
      } else {
        words_.append(word, [&] { append_merged(word, false); });
      }
    }
  }

 private:
  void append_merged(std::string_view word, bool prefix) {
    append_merged_characters(merging_, word, prefix, words_.begin_of(word), symbols_,
                             words_.buffer());
  }

  const CharMerging& merging_;
  const WordBoundaries& boundaries_;
  CachedWords& words_;
  std::vector<Symbol> symbols_;
};

}  // namespace tenon
