#include "text/tokenizer/stream_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/text/small_vocabularies.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

bool is_whole(std::string_view text) { return utf8_valid_prefix(text) == text.size(); }

/// In small_bpe() a byte's token has the byte's number.
std::string stream_bytes(const Tokenizer& tokenizer, std::string_view bytes) {
  StreamDecoder decoder(tokenizer);
  std::string out;
  for (const char byte : bytes) {
    const std::string_view part = decoder.push(static_cast<uint8_t>(byte));
    EXPECT_TRUE(is_whole(part));
    out += part;
  }
  out += decoder.finish();
  return out;
}

TEST(StreamDecoder, HoldsACharacterUntilItIsWhole) {
  const auto tokenizer = make_tokenizer(small_bpe());
  for (const std::string text : {"a", "\u00E9", "\u4E00", "\U0001F680", "x\U0001F636\u200Dy"}) {
    EXPECT_EQ(stream_bytes(*tokenizer, text), text);
  }
  StreamDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.push(0xF0), "");
  EXPECT_EQ(decoder.push(0x9F), "");
  EXPECT_TRUE(decoder.holds_partial());
  EXPECT_EQ(decoder.push(0x9A), "");
  EXPECT_EQ(decoder.push(0x80), "\U0001F680");
  EXPECT_FALSE(decoder.holds_partial());
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, SameTextHoweverTheBytesAreCut) {
  // Tokens of one to four bytes, with parts of a character and its neighbours.
  const std::string text = "a\u00E9\U0001F680\u4E00z";
  Vocabulary v = small_bpe({});
  std::vector<std::vector<Token>> token_at(text.size());  // [begin][size - 1]
  for (size_t begin = 0; begin < text.size(); ++begin) {
    for (size_t size = 1; begin + size <= text.size(); ++size) {
      std::string spelling;
      for (const char c : text.substr(begin, size)) {
        utf8_append(byte_to_letter(static_cast<uint8_t>(c)), spelling);
      }
      Token token = ids(v, {spelling})[0];
      if (token < 0) token = add_token(v, spelling);
      token_at[begin].push_back(token);
    }
  }
  const auto tokenizer = make_tokenizer(v);
  const size_t gaps = text.size() - 1;
  for (uint32_t cuts = 0; cuts < 1u << gaps; ++cuts) {
    StreamDecoder decoder(*tokenizer);
    std::string out;
    for (size_t begin = 0, i = 0; i < text.size(); ++i) {
      if (i < gaps && !(cuts >> i & 1)) continue;
      const std::string_view part = decoder.push(token_at[begin][i - begin]);
      ASSERT_TRUE(is_whole(part));
      out += part;
      begin = i + 1;
    }
    ASSERT_EQ(out, text) << cuts;
    ASSERT_EQ(decoder.finish(), "");
  }
}

TEST(StreamDecoder, IllFormedPartsBecomeReplacementCharacters) {
  const auto tokenizer = make_tokenizer(small_bpe());
  for (const std::string_view bytes :
       {"\xFF", "a\xC3", "\xC3z", "\xE1\x80\xE1\x80\x80", "\xED\xA0\x80", "\xF0\x9F\x9A",
        "\xF0\x9F\xC3\xA9", "\x80\x80", "\xC0\xAF"}) {
    std::string expected;
    utf8_append_repaired(bytes, expected);
    EXPECT_EQ(stream_bytes(*tokenizer, bytes), expected);
  }
}

TEST(StreamDecoder, FinishLeavesItAsNew) {
  const auto tokenizer = make_tokenizer(small_bpe());
  StreamDecoder decoder(*tokenizer);
  decoder.push(0xF0);
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.push('a'), "a");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, ShowsControlTokensOnlyOnRequest) {
  const auto tokenizer = make_tokenizer(small_bpe());
  const Token end = *tokenizer->eos();
  StreamDecoder quiet(*tokenizer);
  EXPECT_EQ(quiet.push(end), "");
  StreamDecoder full(*tokenizer, {.render_special = true});
  EXPECT_EQ(full.push(end), "<|im_end|>");
}

TEST(StreamDecoder, StripsTheSpacePrefixOnlyOnRequest) {
  const Vocabulary v = small_spm();
  const auto tokenizer = make_tokenizer(v);
  const Token hello = ids(v, {"\u2581hello"})[0];
  StreamDecoder going_on(*tokenizer);
  EXPECT_EQ(going_on.push(hello), " hello");
  StreamDecoder from_start(*tokenizer, {.strip_space_prefix = true});
  EXPECT_EQ(from_start.push(1), "");  // <s>
  EXPECT_EQ(from_start.push(hello), "hello");
  EXPECT_EQ(from_start.push(hello), " hello");
}

TEST(StreamDecoder, AForeignIdChangesNothing) {
  const auto tokenizer = make_tokenizer(small_bpe());
  StreamDecoder decoder(*tokenizer);
  decoder.push(0xC3);
  EXPECT_THROW(decoder.push(-1), Error);
  EXPECT_THROW(decoder.push(1 << 20), Error);
  EXPECT_EQ(decoder.push(0xA9), "\u00E9");
}

}  // namespace
}  // namespace tenon
