#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/text/small_vocabularies.h"
#include "text/bpe/pre_tokenizer.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {
namespace {

std::vector<Token> encode(const Vocabulary& vocabulary, std::string_view text,
                          EncodeOptions options = {}) {
  return make_tokenizer(vocabulary)->encode(text, options);
}

TEST(BpeTokenizer, EmptyTextHasNoTokens) {
  EXPECT_TRUE(encode(small_bpe(), "").empty());
  EXPECT_TRUE(encode(small_bpe(), "", {.add_special = true, .parse_special = true}).empty());
}

TEST(BpeTokenizer, MergesByRankInsideWords) {
  const Vocabulary v = small_bpe();
  EXPECT_EQ(encode(v, "hello"), ids(v, {"hello"}));
  EXPECT_EQ(encode(v, "hello hello"), ids(v, {"hello", "\u0120hello"}));
  EXPECT_EQ(encode(v, "helo"), ids(v, {"he", "l", "o"}));
  EXPECT_EQ(encode(v, "ooo"), ids(v, {"oo", "o"}));  // leftmost first
}

TEST(BpeTokenizer, EveryByteComesBack) {
  const auto tokenizer = make_tokenizer(small_bpe());
  std::string text;
  for (uint32_t code = 0; code < 0x3000; ++code) utf8_append(code, text);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
}

TEST(BpeTokenizer, IllFormedTextBecomesReplacementCharacters) {
  const auto tokenizer = make_tokenizer(small_bpe());
  EXPECT_EQ(tokenizer->encode("a\xFF\xC0z"), tokenizer->encode("a\uFFFD\uFFFDz"));
  EXPECT_EQ(tokenizer->encode("\xF0\x9F\x9A"), tokenizer->encode("\uFFFD"));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(std::string_view("\0x", 2))),
            std::string_view("\0x", 2));
}

TEST(BpeTokenizer, ControlTokensComeFromTextOnlyOnRequest) {
  const Vocabulary v = small_bpe();
  const auto tokenizer = make_tokenizer(v);
  const auto plain = tokenizer->encode("<|im_start|>hello<|im_end|>");
  for (const Token token : plain) EXPECT_FALSE(tokenizer->is_control(token));
  EXPECT_EQ(tokenizer->decode(plain), "<|im_start|>hello<|im_end|>");
  EXPECT_EQ(tokenizer->encode("<|im_start|>hello<|im_end|>", {.parse_special = true}),
            ids(v, {"<|im_start|>", "hello", "<|im_end|>"}));
}

// A file may list merges, or with whole_words a single word, that spell a control token.
TEST(BpeTokenizer, MergesNeverMakeAControlToken) {
  Vocabulary v = small_bpe({"a b", "c d"});
  v.types[256] = TokenType::Control;  // "ab"
  v.types[257] = TokenType::Unknown;  // "cd"
  for (const auto* pre : {"gpt-2", "llama-bpe"}) {
    v.pre = pre;
    EXPECT_EQ(encode(v, "ab cd"), ids(v, {"a", "b", "\u0120", "c", "d"})) << pre;
  }
}

TEST(BpeTokenizer, UserDefinedTokensAreFoundUnlessTheyAreMarks) {
  Vocabulary v = small_bpe();
  add_token(v, "    ", TokenType::UserDefined);
  add_token(v, "<b>", TokenType::UserDefined);
  add_token(v, "[INST]", TokenType::UserDefined);
  EXPECT_EQ(encode(v, "he    <b>o"), ids(v, {"he", "    ", "<b>", "o"}));
  const EncodeOptions parse{.parse_special = true};
  EXPECT_EQ(encode(v, "he<tool>llo", parse), ids(v, {"he", "<tool>", "ll", "o"}));
  EXPECT_EQ(encode(v, "[INST]", parse), ids(v, {"[INST]"}));
  for (const char* mark : {"<tool>", "[INST]"}) {
    const auto tokens = encode(v, mark);
    EXPECT_GT(tokens.size(), 1u) << mark;
    EXPECT_EQ(make_tokenizer(v)->decode(tokens), mark);
  }
}

TEST(BpeTokenizer, ATypedMarkStaysTextBesideOneOfTheTemplate) {
  const Vocabulary v = small_bpe();
  const auto tokenizer = make_tokenizer(v);
  const std::vector<TextPart> parts = {{"<tool>", true}, {"<tool>", false}};
  auto expected = ids(v, {"<tool>"});
  const auto typed = tokenizer->encode("<tool>");
  expected.insert(expected.end(), typed.begin(), typed.end());
  EXPECT_EQ(tokenizer->encode(parts, false), expected);
}

TEST(BpeTokenizer, EachPartHasItsOwnRightToControlTokens) {
  const Vocabulary v = small_bpe();
  const auto tokenizer = make_tokenizer(v);
  const std::vector<TextPart> parts = {
      {"<|im_start|>", true}, {"<|im_end|>hel", false}, {"lo<|im_end|>", true}};
  auto expected = ids(v, {"<|im_start|>"});
  const auto middle = tokenizer->encode("<|im_end|>hello");
  expected.insert(expected.end(), middle.begin(), middle.end());
  expected.push_back(*tokenizer->eos());
  EXPECT_EQ(tokenizer->encode(parts, false), expected);
  // Parts that spell a control token only together make none.
  const std::vector<TextPart> halves = {{"<|im_", true}, {"end|>", true}};
  EXPECT_EQ(tokenizer->encode(halves, false), tokenizer->encode("<|im_end|>"));
  EXPECT_TRUE(tokenizer->encode(std::vector<TextPart>{}, false).empty());
}

TEST(BpeTokenizer, AddsSpecialTokensAsTheFileSays) {
  Vocabulary v = small_bpe();
  v.bos = 0;
  EXPECT_EQ(encode(v, "oo", {.add_special = true}), ids(v, {"oo"}));
  v.add_bos = true;
  v.add_eos = true;
  EXPECT_EQ(encode(v, "oo", {.add_special = true}),
            (std::vector<Token>{0, 261, static_cast<Token>(*v.eos)}));
  EXPECT_EQ(encode(v, "oo"), ids(v, {"oo"}));
  EXPECT_EQ(encode(v, "", {.add_special = true}),
            (std::vector<Token>{0, static_cast<Token>(*v.eos)}));
}

TEST(BpeTokenizer, Llama3AddsItsBeginTokenWhenTheFileIsSilent) {
  Vocabulary v = small_bpe();
  v.pre = "llama-bpe";
  EXPECT_FALSE(make_tokenizer(v)->adds_bos());
  v.bos = 0;
  EXPECT_TRUE(make_tokenizer(v)->adds_bos());
  v.add_bos = false;
  EXPECT_FALSE(make_tokenizer(v)->adds_bos());
}

TEST(BpeTokenizer, Llama3TakesAWordThatIsATokenWhole) {
  Vocabulary v = small_bpe();
  const Token world = add_token(v, "\u0120world");  // no merge leads there
  v.pre = "llama-bpe";
  EXPECT_EQ(encode(v, " world"), std::vector<Token>{world});
  v.pre = "qwen2";
  EXPECT_EQ(encode(v, " world").size(), 6u);
}

TEST(BpeTokenizer, DropsBytesTheVocabularyCannotSpell) {
  Vocabulary v = small_bpe();
  v.tokens[3] = "[hole]";  // like falcon: no token for U+0003
  EXPECT_EQ(encode(v, "o\x03o"), ids(v, {"o", "o"}));
  v.unknown = add_token(v, "<unk>", TokenType::Unknown);
  EXPECT_EQ(encode(v, "o\x03o"), ids(v, {"o", "<unk>", "o"}));
  v.types.back() = TokenType::Control;  // like starcoder, whose unknown token is <|endoftext|>
  EXPECT_EQ(encode(v, "o\x03o"), ids(v, {"o", "o"}));
}

TEST(BpeTokenizer, KnowsWhatEndsAGeneration) {
  Vocabulary v = small_bpe();
  const Token end_of_text = add_token(v, "<|endoftext|>");  // the type is wrong in some files
  v.extra_end_tokens = {5};
  const auto tokenizer = make_tokenizer(v);
  EXPECT_TRUE(tokenizer->is_end(static_cast<Token>(*v.eos)));
  EXPECT_TRUE(tokenizer->is_end(end_of_text));
  EXPECT_TRUE(tokenizer->is_control(end_of_text));
  EXPECT_TRUE(tokenizer->is_end(5));
  EXPECT_FALSE(tokenizer->is_end(6));
  EXPECT_FALSE(tokenizer->is_end(-1));
  EXPECT_FALSE(tokenizer->is_control(1 << 30));
  EXPECT_EQ(tokenizer->eot(), tokenizer->eos());  // <|im_end|>
  EXPECT_THAT(tokenizer->end_tokens(), ::testing::ElementsAre(5, *v.eos, end_of_text));
}

TEST(BpeTokenizer, AMessageMayEndBeforeTheAnswerDoes) {
  Vocabulary v = small_bpe();
  const Token end = add_token(v, "<|end|>", TokenType::Control);
  EXPECT_TRUE(make_tokenizer(v)->is_end(end));  // Phi-3
  add_token(v, "<|return|>", TokenType::Control);
  const Token call = add_token(v, "<|call|>", TokenType::Control);
  v.eos = call - 1;  // gpt-oss
  EXPECT_FALSE(make_tokenizer(v)->is_end(end));
  EXPECT_TRUE(make_tokenizer(v)->is_control(end));
  EXPECT_TRUE(make_tokenizer(v)->is_end(call));
  EXPECT_TRUE(make_tokenizer(v)->is_end(call - 1));
}

TEST(BpeTokenizer, DecodesControlTokensOnlyOnRequest) {
  const Vocabulary v = small_bpe();
  const auto tokenizer = make_tokenizer(v);
  const auto tokens = tokenizer->encode("<|im_start|>hello <tool>", {.parse_special = true});
  EXPECT_EQ(tokenizer->decode(tokens), "hello <tool>");
  EXPECT_EQ(tokenizer->decode(tokens, {.render_special = true}), "<|im_start|>hello <tool>");
  EXPECT_EQ(tokenizer->spelling(ids(v, {"\u0120hello"})[0]), "\u0120hello");
  EXPECT_EQ(tokenizer->find("hello"), ids(v, {"hello"})[0]);
  EXPECT_EQ(tokenizer->find("nowhere"), std::nullopt);
}

TEST(BpeTokenizer, IdsOutsideTheVocabularyAreArgumentErrors) {
  const auto tokenizer = make_tokenizer(small_bpe());
  for (const Token token : {-1, static_cast<Token>(tokenizer->size()), INT32_MIN, INT32_MAX}) {
    try {
      (void)tokenizer->decode(token);
      ADD_FAILURE() << "decoded " << token;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Argument);
      EXPECT_THAT(error.what(), ::testing::HasSubstr(std::to_string(token)));
    }
    EXPECT_THROW((void)tokenizer->type(token), Error);
    EXPECT_THROW((void)tokenizer->spelling(token), Error);
  }
}

/// Tokens of a word by the definition of BPE: repeatedly the leftmost pair of the best rank.
void append_by_definition(const Vocabulary& v, std::string_view word, std::vector<Token>& out) {
  std::vector<std::string> parts;
  for (const char c : word) {
    utf8_append(byte_to_letter(static_cast<uint8_t>(c)), parts.emplace_back());
  }
  for (size_t rank = 0; rank < v.merges.size();) {
    size_t at = 0;
    while (at + 1 < parts.size() && parts[at] + " " + parts[at + 1] != v.merges[rank]) ++at;
    if (at + 1 >= parts.size()) {
      ++rank;
      continue;
    }
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(at) + 1);
    rank = 0;
  }
  for (const std::string& part : parts) {
    const auto place = std::find(v.tokens.begin(), v.tokens.end(), part);
    out.push_back(static_cast<Token>(place - v.tokens.begin()));
  }
}

TEST(BpeTokenizer, PiecesThatAreRememberedOrCutBecomeWhatTheirWordsDo) {
  constexpr std::string_view kUnits[] = {"hello", " hello", "he", " ", "  ", "12", "1234",
                                         "\n",    ".",      "!?", "o", "l",  "x ", "\u00E9"};
  std::mt19937 random(4);
  // In the second vocabulary a token crosses a space, so words are not cut there.
  for (Vocabulary v : {small_bpe(), small_bpe({"h e", "o \u0120", "l l", "he ll", "\u0120 he"})}) {
    for (const char* name : {"deepseek-llm", "chameleon", "superbpe", "exaone-moe", "falcon"}) {
      v.pre = name;
      const auto tokenizer = make_tokenizer(v);
      const SplitPatterns patterns = compile_patterns(pre_tokenizer_of(name).patterns);
      for (int round = 0; round < 8; ++round) {
        std::string text;
        for (int i = 0; i < 60; ++i) text += kUnits[random() % std::size(kUnits)];
        std::vector<Token> expected;
        Splitter(patterns).split(
            text, [&](std::string_view word) { append_by_definition(v, word, expected); });
        EXPECT_EQ(tokenizer->encode(text), expected) << name << ": " << text;
      }
    }
  }
}

TEST(BpeTokenizer, RemembersWordsOfLongTextsCorrectly) {
  const auto tokenizer = make_tokenizer(small_bpe());
  std::string text;
  std::vector<Token> expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string word = " w" + std::to_string(i % 700) + (i % 3 ? "hello" : "oo");
    text += word;
    const auto tokens = tokenizer->encode(word);
    expected.insert(expected.end(), tokens.begin(), tokens.end());
  }
  EXPECT_EQ(tokenizer->encode(text), expected);
}

}  // namespace
}  // namespace tenon
