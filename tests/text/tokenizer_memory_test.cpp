// Ten times the text requests about ten times the memory. Growth by copying would request more, and
// each page costs time. Counts bytes, so that no clock decides.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/base/counted_new.h"
#include "tests/text/small_vocabularies.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {
namespace {

std::string repeated(std::string_view unit, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

uint64_t bytes_to_encode(const Tokenizer& tokenizer, const std::string& text) {
  const uint64_t before = counted_new::num_bytes;
  EXPECT_LT(tokenizer.encode(text).size(), 4 * text.size());
  return counted_new::num_bytes - before;
}

Vocabulary vocabulary_of(const std::string& model) {
  if (model == "gpt2") return small_bpe();
  if (model == "llama") return small_spm();
  Vocabulary v;
  v.model = model;
  v.bos = v.eos = v.unknown = add_token(v, "<unk>", TokenType::Unknown);
  for (int byte = 0; byte < 256; ++byte) {
    add_token(v, fmt::format("<0x{:02X}>", byte), TokenType::Byte, -20.0f);
  }
  for (const char* piece : {"\u2581", "\u2581\u2581", "o", "oo", " ", "7", "\u4E00", "e\u2581e"}) {
    add_token(v, piece, TokenType::Normal, -2.0f);
  }
  if (model == "bert" || model == "rwkv") v.types.assign(v.types.size(), TokenType::Normal);
  v.types[0] = TokenType::Unknown;
  v.merges = {"o o", "\u2581 \u2581"};
  return v;
}

TEST(TokenizerMemory, IsInProportionToTheText) {
  constexpr size_t kBytes = 400'000;
  for (const char* model : {"gpt2", "llama", "gemma4", "t5", "bert", "rwkv", "plamo2"}) {
    const auto tokenizer = make_tokenizer(vocabulary_of(model));
    for (const char* unit : {"o", "7", "o ", " x", "\n", "\u4E00", "\u0301e", ".", "\xFF"}) {
      (void)bytes_to_encode(*tokenizer, "x");  // the cache of words is made once
      const uint64_t small = bytes_to_encode(*tokenizer, repeated(unit, kBytes));
      const uint64_t large = bytes_to_encode(*tokenizer, repeated(unit, 10 * kBytes));
      EXPECT_LE(large, 11 * small + 65'536) << model << " of " << unit;
    }
  }
}

}  // namespace
}  // namespace tenon
