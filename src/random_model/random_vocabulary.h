// A synthetic byte-level BPE vocabulary of any size, so that engines load a random model and
// tokenize text. Contains no word of a published vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

struct RandomVocabulary {
  std::vector<std::string> tokens;  ///< 256 bytes, words, then the begin and end tokens
  std::vector<int32_t> types;       ///< values of tokenizer.ggml.token_type
  std::vector<std::string> merges;  ///< merges of the words, in their order
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Makes `size` tokens. Words grow by a letter, with and without a leading space: all words of n
/// letters before those of n + 1. Throws Argument below 258 tokens and above about 490,000.
RandomVocabulary make_random_vocabulary(uint32_t size);

}  // namespace tenon
