// RWKV, BPE over characters, and the edges of Unigram and WordPiece.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/text/small_vocabularies.h"
#include "text/charsmap.h"
#include "text/tokenizer.h"

namespace tenon {
namespace {

using testing::add_token;
using testing::ids;

std::vector<Token> encode(const Vocabulary& v, std::string_view text, EncodeOptions options = {}) {
  return make_tokenizer(v)->encode(text, options);
}

Code code_of(const Vocabulary& v) {
  try {
    (void)make_tokenizer(v);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::Ok;
}

Vocabulary small_unigram() {
  Vocabulary v;
  v.model = "t5";
  add_token(v, "<pad>", TokenType::Control);
  v.eos = add_token(v, "</s>", TokenType::Control);
  v.unknown = add_token(v, "<unk>", TokenType::Unknown);
  for (const char* piece : {"\u2581", "a", "b", "ab", "\u2581ab", "abab"}) {
    add_token(v, piece, TokenType::Normal, -2.0f);
  }
  add_token(v, "<mask>", TokenType::UserDefined);
  return v;
}

Vocabulary small_wordpiece() {
  Vocabulary v;
  v.model = "bert";
  v.bos = add_token(v, "[CLS]", TokenType::Control);
  v.separator = add_token(v, "[SEP]", TokenType::Control);
  v.unknown = add_token(v, "[UNK]", TokenType::Unknown);
  for (const char* piece :
       {"\u2581he", "llo", "\u2581hello", "\u2581,", "\u2581[", "\u2581]", "\u2581cls", "l"}) {
    add_token(v, piece);
  }
  return v;
}

Vocabulary small_char_bpe() {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = "gemma4";
  v.add_bos = false;
  for (int byte = 0; byte < 256; ++byte) {
    add_token(v, fmt::format("<0x{:02X}>", byte), TokenType::Byte);
  }
  for (const char* piece : {"a", "b", "\u2581", "\u00E9", "ab", "\u2581ab", "\n", "\n\n"}) {
    add_token(v, piece);
  }
  v.merges = {"a b", "\u2581 ab"};
  return v;
}

TEST(Unigram, TakesTheBestCutAndOneUnknownForARun) {
  const Vocabulary v = small_unigram();
  EXPECT_EQ(encode(v, "ab"), ids(v, {"\u2581ab"}));
  EXPECT_EQ(encode(v, "abab", {.add_special = true}), ids(v, {"\u2581", "abab", "</s>"}));
  EXPECT_EQ(encode(v, "a\u4E2D\u6587b"), ids(v, {"\u2581", "a", "<unk>", "b"}));
  EXPECT_EQ(encode(v, "a<mask>b", {.parse_special = true}), ids(v, {"\u2581", "a", "<mask>", "\u2581", "b"}));
  EXPECT_EQ(encode(v, "</s>").front(), ids(v, {"\u2581"})[0]);
  EXPECT_TRUE(encode(v, "").empty());
}

TEST(Unigram, SpellsUnknownsInBytesWhereItCan) {
  Vocabulary v = small_unigram();
  for (int byte = 0; byte < 256; ++byte) {
    add_token(v, fmt::format("<0x{:02X}>", byte), TokenType::Byte);
  }
  EXPECT_EQ(encode(v, "a\u00E9"), ids(v, {"\u2581", "a", "<0xC3>", "<0xA9>"}));
  EXPECT_EQ(make_tokenizer(v)->decode(encode(v, "a\u00E9b")), "a\u00E9b");
}

TEST(Unigram, RefusesBrokenTablesAndScores) {
  Vocabulary v = small_unigram();
  v.scores.pop_back();
  EXPECT_EQ(code_of(v), Code::Format);
  for (const std::string& table :
       {std::string("\1"), std::string("\4\0\0\0", 4), std::string("\3\0\0\0abc", 7),
        std::string("\4\0\0\0abcdx", 9), std::string("\xFF\xFF\xFF\xFF....", 8)}) {
    Vocabulary broken = small_unigram();
    broken.charsmap = table;
    EXPECT_EQ(code_of(broken), Code::Format) << table.size();
  }
  // A trie that leads nowhere replaces nothing.
  Vocabulary wild = small_unigram();
  wild.charsmap = std::string("\4\0\0\0\xFF\xFF\xFF\x7F\0", 9);
  EXPECT_EQ(encode(wild, "ab"), ids(wild, {"\u2581ab"}));
}

TEST(WordPiece, FindsTheLongestPieceOfEachWord) {
  const Vocabulary v = small_wordpiece();
  EXPECT_EQ(encode(v, "Hello, h\u00E9llo"), ids(v, {"\u2581hello", "\u2581,", "\u2581hello"}));
  EXPECT_EQ(encode(v, "hel"), ids(v, {"\u2581he", "l"}));
  EXPECT_EQ(encode(v, "hex he"), ids(v, {"[UNK]", "\u2581he"}));
  EXPECT_EQ(encode(v, "hello", {.add_special = true}), ids(v, {"[CLS]", "\u2581hello", "[SEP]"}));
}

TEST(WordPiece, SpelledControlTokensStayText) {
  const Vocabulary v = small_wordpiece();
  EXPECT_EQ(encode(v, "[CLS]"), ids(v, {"\u2581[", "\u2581cls", "\u2581]"}));
  EXPECT_EQ(encode(v, "[CLS]", {.parse_special = true}), ids(v, {"[CLS]"}));
}

TEST(WordPiece, NeedsAnUnknownToken) {
  Vocabulary v = small_wordpiece();
  v.unknown.reset();
  EXPECT_EQ(code_of(v), Code::Format);
}

TEST(CharBpe, MergesCharactersAndKeepsLinesApart) {
  const Vocabulary v = small_char_bpe();
  EXPECT_EQ(encode(v, "ab ab"), ids(v, {"ab", "\u2581ab"}));
  EXPECT_EQ(encode(v, "a\n\nb"), ids(v, {"a", "\n\n", "b"}));
  EXPECT_EQ(encode(v, "\n\n\n"), ids(v, {"\n", "\n", "\n"}));
  EXPECT_EQ(encode(v, "\u00E9\u4E2D"), ids(v, {"\u00E9", "<0xE4>", "<0xB8>", "<0xAD>"}));
  const auto tokenizer = make_tokenizer(v);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(" ab \u4E2D\n")), " ab \u4E2D\n");
}

TEST(Rwkv, TakesTheLongestTokenAndUnescapesSpellings) {
  Vocabulary v;
  v.model = "rwkv";
  for (int byte = 0; byte < 256; ++byte) add_token(v, fmt::format("\\x{:02x}", byte));
  const Token line = add_token(v, "a\\n\\tb");
  const Token slash = add_token(v, "\\\\\\\\");
  const Token ab = add_token(v, "ab");
  EXPECT_EQ(encode(v, "a\n\tb\\\\abc"), (std::vector<Token>{line, slash, ab, 'c'}));
  EXPECT_EQ(make_tokenizer(v)->decode(encode(v, "a\n\t\u00E9")), "a\n\t\u00E9");
}

}  // namespace
}  // namespace tenon
