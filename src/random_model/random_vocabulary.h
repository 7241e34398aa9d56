// A made-up byte-level BPE vocabulary of any size: what a random model needs so that engines load
// it and text can be tokenized. No word of it comes from a published vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

struct RandomVocabulary {
  std::vector<std::string> tokens;  ///< 256 bytes, words, then the begin and the end token
  std::vector<int32_t> types;       ///< as in tokenizer.ggml.token_type
  std::vector<std::string> merges;  ///< one for each word, in its order
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// `size` tokens. Words grow letter by letter, with and without a space before them: all of n
/// letters before those of n + 1. Throws Argument below 258 tokens and above about 490,000.
RandomVocabulary make_random_vocabulary(uint32_t size);

}  // namespace tenon
