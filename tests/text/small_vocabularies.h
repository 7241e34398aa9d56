// Vocabularies small enough to reason about, for tests of src/text.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "text/bpe/byte_alphabet.h"
#include "text/tokenizer/vocabulary.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {

/// Adds a token and returns its id.
inline Token add_token(Vocabulary& vocabulary, std::string spelling,
                       TokenType type = TokenType::Normal, float score = 0) {
  vocabulary.tokens.push_back(std::move(spelling));
  vocabulary.types.push_back(type);
  vocabulary.scores.push_back(score);
  return static_cast<Token>(vocabulary.tokens.size() - 1);
}

/// Byte-level BPE: tokens 0..255 are the bytes, then the results of `merges` in order, then
/// <|im_start|>, <|im_end|> (control) and <tool> (user-defined).
inline Vocabulary small_bpe(const std::vector<std::string>& merges = {
                                "h e", "l l", "he ll", "hell o", "\u0120 hello", "o o"}) {
  Vocabulary out;
  out.model = "gpt2";
  out.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    std::string letter;
    utf8_append(byte_to_letter(static_cast<uint8_t>(byte)), letter);
    add_token(out, letter);
  }
  for (const std::string& merge : merges) {
    std::string joined = merge;
    joined.erase(joined.find(' '), 1);
    add_token(out, joined);
    out.merges.push_back(merge);
  }
  add_token(out, "<|im_start|>", TokenType::Control);
  out.eos = add_token(out, "<|im_end|>", TokenType::Control);
  add_token(out, "<tool>", TokenType::UserDefined);
  return out;
}

/// SentencePiece: <unk> <s> </s>, the 256 byte tokens from 3, then pieces with descending scores.
inline Vocabulary small_spm(const std::vector<std::string>& pieces = {
                                "\u2581h", "el", "lo", "\u2581hel", "\u2581hello", "\u2581", "h",
                                "e", "l", "o", "w", "<", "s", ">"}) {
  Vocabulary out;
  out.model = "llama";
  add_token(out, "<unk>", TokenType::Unknown);
  add_token(out, "<s>", TokenType::Control);
  add_token(out, "</s>", TokenType::Control);
  for (int byte = 0; byte < 256; ++byte) {
    add_token(out, fmt::format("<0x{:02X}>", byte), TokenType::Byte);
  }
  float score = 0;
  for (const std::string& piece : pieces) add_token(out, piece, TokenType::Normal, --score);
  return out;
}

/// Ids of the tokens of `vocabulary` with these spellings.
inline std::vector<Token> ids(const Vocabulary& vocabulary,
                              const std::vector<std::string>& spellings) {
  std::vector<Token> out;
  for (const std::string& spelling : spellings) {
    Token found = -1;
    for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      if (vocabulary.tokens[i] == spelling) found = static_cast<Token>(i);
    }
    out.push_back(found);
  }
  return out;
}

}  // namespace tenon
