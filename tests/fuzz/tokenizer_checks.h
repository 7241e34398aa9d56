// What must hold of any tokenizer and any text: for the fuzz targets that make tokenizers.
#pragma once

#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

inline void require(bool condition) {
  if (!condition) __builtin_trap();
}

/// The tokens of a text, which are of the vocabulary and no control tokens unless asked for.
inline std::vector<Token> checked_encode(const Tokenizer& tokenizer, std::string_view text,
                                         EncodeOptions options) {
  std::vector<Token> tokens = tokenizer.encode(text, options);
  const bool may_be_control = options.add_special || options.parse_special;
  for (const Token token : tokens) {
    require(token >= 0 && static_cast<size_t>(token) < tokenizer.size());
    // Many vocabularies call the token for what they cannot spell a control token.
    require(may_be_control || !tokenizer.is_control(token) || token == tokenizer.unknown());
  }
  return tokens;
}

/// The first half of the text as a program wrote it, the second as a user did.
inline void encode_in_parts(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<TextPart> parts = {{text.substr(0, text.size() / 2), true},
                                       {text.substr(text.size() / 2), false}};
  (void)tokenizer.encode(parts, true);
}

}  // namespace tenon
