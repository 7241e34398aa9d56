// Cuts a text into words as BERT does before WordPiece, which finds the pieces.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/system.h"

namespace tenon {

struct BertOptions {
  bool clean_text = true;     ///< drop control characters, make all white space a space
  bool separate_cjk = true;   ///< make each Chinese character a word
  bool strip_accents = true;  ///< decompose and drop marks of category Mn
  bool lowercase = true;
};

/// Applies BERT's normalizer to `text`, well-formed UTF-8. Linear time.
std::string bert_normalized(System& system, std::string_view text, const BertOptions& options);

/// Calls sink(word) for the words of a normalized text: they are separated by white space, and each
/// punctuation sign is a word.
void split_bert_words(std::string_view text, const std::function<void(std::string_view)>& sink);

}  // namespace tenon
