// Cuts a text into words as BERT does before WordPiece; the pieces are found elsewhere.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/system.h"

namespace tenon {

struct BertOptions {
  bool clean_text = true;     ///< drop controls, make every white space a space
  bool separate_cjk = true;   ///< each Chinese character is a word
  bool strip_accents = true;  ///< decompose and drop what is Mn
  bool lowercase = true;
};

/// What BERT's normalizer makes of `text`, well-formed UTF-8. Linear time.
std::string bert_normalized(System& system, std::string_view text, const BertOptions& options);

/// Calls sink(word) for the words of a normalized text: what white space separates, with each sign
/// of punctuation alone.
void split_bert_words(std::string_view text, const std::function<void(std::string_view)>& sink);

}  // namespace tenon
