// Harmless oddities of published vocabularies: tokens with equal spellings, special ids out of
// range. They open, and the tokenizer reports them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/text/small_vocabularies.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Tokens = std::vector<Token>;

std::vector<std::string> warnings_of(const Tokenizer& tokenizer) {
  return {tokenizer.warnings().begin(), tokenizer.warnings().end()};
}

/// A vocabulary in which a normal word has two tokens, for each kind of tokenizer.
struct Twins {
  const char* name;
  Vocabulary vocabulary;
  std::string text;
  Token last;
};

Twins bpe_twins() {
  Vocabulary v = small_bpe();
  const Token last = add_token(v, "hello");
  return {"gpt2", std::move(v), "hello", last};
}

Twins spm_twins() {
  Vocabulary v = small_spm();
  const Token last = add_token(v, "\u2581hello", TokenType::Normal, -5);
  return {"llama", std::move(v), "hello", last};
}

Twins listed_twins(const char* model, const std::string& spelling, const std::string& text) {
  Vocabulary v;
  v.model = model;
  v.bos = v.eos = v.unknown = add_token(v, "<unk>", TokenType::Unknown);
  for (int byte = 0; byte < 256; ++byte) {
    add_token(v, fmt::format("<0x{:02X}>", byte), TokenType::Byte, -20.0f);
  }
  if (v.model == "bert" || v.model == "rwkv") v.types.assign(v.types.size(), TokenType::Normal);
  v.types[0] = TokenType::Unknown;
  add_token(v, "\u2581", TokenType::Normal, -3.0f);
  add_token(v, spelling, TokenType::Normal, -1.0f);
  const Token last = add_token(v, spelling, TokenType::Normal, -2.0f);
  return {model, std::move(v), text, last};
}

TEST(TokensOfOneSpelling, TextBecomesTheLast) {
  for (Twins& twins : std::vector<Twins>{
           bpe_twins(), spm_twins(), listed_twins("bert", "\u2581sea", "sea"),
           listed_twins("rwkv", "sea", "sea"), listed_twins("plamo2", "sea", "sea")}) {
    SCOPED_TRACE(twins.name);
    const auto tokenizer = make_tokenizer(twins.vocabulary);
    EXPECT_EQ(tokenizer->encode(twins.text), Tokens{twins.last});
    const std::string spelling(tokenizer->spelling(twins.last));
    EXPECT_EQ(tokenizer->find(spelling), twins.last);
    ASSERT_EQ(tokenizer->warnings().size(), 1u);
    EXPECT_THAT(tokenizer->warnings()[0], HasSubstr(fmt::format("and {} are both", twins.last)));
  }
}

TEST(TokensOfOneSpelling, DecodeToTheSameText) {
  const Twins twins = bpe_twins();
  const auto tokenizer = make_tokenizer(twins.vocabulary);
  const Token first = ids(small_bpe(), {"hello"})[0];
  EXPECT_EQ(tokenizer->decode(first), "hello");
  EXPECT_EQ(tokenizer->decode(twins.last), "hello");
}

TEST(TokensOfOneSpelling, OtherTextsAreCutAsBefore) {
  const std::string text = "oooo heo <|im_end|><tool> hi\n";
  for (const bool special : {false, true}) {
    Vocabulary v = small_bpe();
    const EncodeOptions options{.parse_special = special};
    const Tokens before = make_tokenizer(v)->encode(text, options);
    add_token(v, "hello");
    add_token(v, "<unused>", TokenType::Unused);
    for (int i = 0; i < 10; ++i) add_token(v, "<unused>", TokenType::Unused);
    const auto tokenizer = make_tokenizer(v);
    EXPECT_EQ(tokenizer->encode(text, options), before);
    ASSERT_EQ(tokenizer->warnings().size(), 1u);
    EXPECT_THAT(tokenizer->warnings()[0], HasSubstr("and 8 more"));
  }
}

TEST(TokensOfOneSpelling, MayBeSpecial) {
  Vocabulary v = small_bpe();
  const Token last = add_token(v, "<|im_end|>", TokenType::Control);
  const auto tokenizer = make_tokenizer(v);
  EXPECT_EQ(tokenizer->encode("<|im_end|>", {.parse_special = true}), Tokens{last});
  // The named token and the token found by spelling both end an answer.
  EXPECT_TRUE(tokenizer->is_end(last));
  EXPECT_TRUE(tokenizer->is_end(static_cast<Token>(*v.eos)));
}

TEST(Merges, ThatLeadToNoTokenAreLeftOutUnlessTheyAreMany) {
  std::vector<std::string> merges;
  for (char c = 'a'; c <= 'z'; ++c) merges.push_back(std::string(1, c) + " X");
  Vocabulary v = small_bpe(merges);
  v.tokens[256 + 3] = "d?";  // replaces "dX", the result of a merge
  const auto tokenizer = make_tokenizer(v);
  EXPECT_EQ(tokenizer->encode("cX"), ids(v, {"cX"}));
  EXPECT_EQ(tokenizer->encode("dX"), ids(v, {"d", "X"}));
  EXPECT_THAT(warnings_of(*tokenizer), ElementsAre(HasSubstr("merge 3: its result \"dX\"")));
  v.tokens[256 + 4] = "e?";
  EXPECT_THROW(make_tokenizer(v), Error);
}

TEST(SpecialIds, OutsideTheVocabularyAreLeftOut) {
  for (const int64_t id : {int64_t{1} << 20, int64_t{1} << 40, int64_t{-2}}) {
    Vocabulary v = small_bpe();
    v.bos = v.eos = v.eot = v.eom = v.unknown = v.padding = v.separator = id;
    const auto tokenizer = make_tokenizer(v);
    EXPECT_FALSE(tokenizer->bos() || tokenizer->padding() || tokenizer->unknown());
    EXPECT_EQ(tokenizer->warnings().size(), 7u);
    EXPECT_THAT(tokenizer->warnings()[0], HasSubstr("bos_token_id: token"));
  }
}

TEST(SpecialIds, ThatSayNoneAreNoMistake) {
  for (const int64_t id : {int64_t{-1}, int64_t{UINT32_MAX}}) {
    Vocabulary v = small_bpe();
    v.padding = v.unknown = v.bos = id;
    EXPECT_THAT(warnings_of(*make_tokenizer(v)), IsEmpty());
  }
}

TEST(SpecialIds, OutsideFallBackToThoseOfTheKind) {
  Vocabulary v = small_spm();
  v.bos = 99999;
  v.unknown = -1;
  const auto tokenizer = make_tokenizer(v);
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->unknown(), 0);
}

TEST(SpecialIds, ThatAreAskedForAndMissingAreNotAdded) {
  Vocabulary v = small_bpe();
  v.add_bos = true;
  const auto tokenizer = make_tokenizer(v);
  EXPECT_FALSE(tokenizer->adds_bos());
  EXPECT_THAT(warnings_of(*tokenizer),
              ElementsAre(HasSubstr("add_bos_token: true, but there is no")));
  EXPECT_EQ(tokenizer->encode("h", {.add_special = true}), tokenizer->encode("h"));
}

}  // namespace
}  // namespace tenon
