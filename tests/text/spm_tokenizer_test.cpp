#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/text/small_vocabularies.h"
#include "text/tokenizer/tokenizer.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

std::vector<Token> encode(const Vocabulary& vocabulary, std::string_view text,
                          EncodeOptions options = {}) {
  return make_tokenizer(vocabulary)->encode(text, options);
}

TEST(SpmTokenizer, EmptyTextHasNoTokensButTheBeginToken) {
  EXPECT_TRUE(encode(small_spm(), "").empty());
  EXPECT_EQ(encode(small_spm(), "", {.add_special = true}), std::vector<Token>{1});
}

TEST(SpmTokenizer, PutsASpaceBeforeTheTextAndMergesByScore) {
  const Vocabulary v = small_spm();
  EXPECT_EQ(encode(v, "hello"), ids(v, {"\u2581hello"}));
  EXPECT_EQ(encode(v, "hello hello"), ids(v, {"\u2581hello", "\u2581hello"}));
  EXPECT_EQ(encode(v, " hello"), ids(v, {"\u2581", "\u2581hello"}));
  EXPECT_EQ(encode(v, "elo"), ids(v, {"\u2581", "el", "o"}));  // "el" has the better score
  EXPECT_EQ(encode(v, "hello", {.add_special = true}), ids(v, {"<s>", "\u2581hello"}));
}

TEST(SpmTokenizer, SpacePrefixCanBeOff) {
  Vocabulary v = small_spm();
  v.add_space_prefix = false;
  EXPECT_EQ(encode(v, "hel"), ids(v, {"h", "el"}));
  EXPECT_EQ(make_tokenizer(v)->decode(encode(v, " hello")), " hello");
}

TEST(SpmTokenizer, ALiteralSpaceMarkIsASpace) {
  const Vocabulary v = small_spm();
  EXPECT_EQ(encode(v, "w\u2581hello"), encode(v, "w hello"));
  EXPECT_EQ(encode(v, "\u2581 \u2581hello"), encode(v, "   hello"));
}

TEST(SpmTokenizer, SpellsWhatItHasNoPieceForInBytes) {
  const Vocabulary v = small_spm();
  EXPECT_EQ(encode(v, "w\u00E9"), ids(v, {"\u2581", "w", "<0xC3>", "<0xA9>"}));
  EXPECT_EQ(encode(v, "\n"), ids(v, {"\u2581", "<0x0A>"}));
}

TEST(SpmTokenizer, TextThatSpellsByteOrControlTokensStaysText) {
  const Vocabulary v =
      small_spm({"\u2581", "<", "0", "x",  "4",  "1",   ">",  "<0",  "<0x", "<0x4", "41",
                 "1>",     "s", "/", "<s", "</", "</s", "s>", "unk", "u",   "n",    "k"});
  const auto tokenizer = make_tokenizer(v);
  for (const std::string text : {"<0x41>", "<s>", "</s>", "<unk>"}) {
    const auto tokens = tokenizer->encode(text);
    for (const Token token : tokens) {
      EXPECT_NE(tokenizer->type(token), TokenType::Control) << text;
      EXPECT_NE(tokenizer->type(token), TokenType::Unknown) << text;
    }
    EXPECT_EQ(tokenizer->decode(tokens), text);
    EXPECT_GT(tokens.size(), 2u);
  }
  EXPECT_EQ(tokenizer->encode("<s>", {.parse_special = true}), std::vector<Token>{1});
}

TEST(SpmTokenizer, SpacePrefixComesBackAfterEachSpecialToken) {
  const Vocabulary v = small_spm();
  const auto tokenizer = make_tokenizer(v);
  const auto tokens = tokenizer->encode("<s>hello</s>hello", {.parse_special = true});
  EXPECT_EQ(tokens, ids(v, {"<s>", "\u2581hello", "</s>", "\u2581hello"}));
  EXPECT_EQ(tokenizer->decode(tokens, {.render_special = true}), "<s>hello</s>hello");
  EXPECT_EQ(tokenizer->decode(tokens, {.render_special = true, .strip_space_prefix = false}),
            "<s> hello</s> hello");
}

TEST(SpmTokenizer, Phi3DropsWhiteSpaceAfterItsRoleTokens) {
  Vocabulary v = small_spm();
  add_token(v, "<|user|>", TokenType::Control);
  EXPECT_EQ(encode(v, "<|user|>\n hello", {.parse_special = true}),
            ids(v, {"<|user|>", "\u2581", "<0x0A>", "\u2581hello"}));
  v.model_name = "Phi-3 mini";
  EXPECT_EQ(encode(v, "<|user|>\n hello", {.parse_special = true}),
            ids(v, {"<|user|>", "\u2581hello"}));
  EXPECT_EQ(encode(v, "<s> hello", {.parse_special = true}),
            ids(v, {"<s>", "\u2581", "\u2581hello"}));
}

TEST(SpmTokenizer, DefaultsHoldOnlyWhereTheVocabularyFitsThem) {
  Vocabulary v = small_spm();
  EXPECT_EQ(make_tokenizer(v)->bos(), 1);
  EXPECT_EQ(make_tokenizer(v)->eos(), 2);
  EXPECT_EQ(make_tokenizer(v)->unknown(), 0);
  v.types.clear();  // very old files have none; the names and spellings decide
  EXPECT_EQ(make_tokenizer(v)->bos(), 1);
  EXPECT_EQ(make_tokenizer(v)->type(3 + 0x41), TokenType::Byte);
  v = small_spm();
  v.types[1] = TokenType::Normal;
  EXPECT_EQ(make_tokenizer(v)->bos(), std::nullopt);
  EXPECT_FALSE(make_tokenizer(v)->adds_bos());
}

/// The definition of SentencePiece BPE on characters, with linear scans.
std::vector<std::string> pieces_by_definition(const Vocabulary& v, const std::string& text) {
  std::vector<std::string> pieces;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_decode_valid(text.data() + at);
    pieces.push_back(text.substr(at, c.size));
    at += c.size;
  }
  while (true) {
    float best = -std::numeric_limits<float>::infinity();
    size_t best_at = pieces.size();
    for (size_t i = 0; i + 1 < pieces.size(); ++i) {
      for (size_t t = 259; t < v.tokens.size(); ++t) {
        if (v.tokens[t] == pieces[i] + pieces[i + 1] && v.scores[t] > best) {
          best = v.scores[t];
          best_at = i;
        }
      }
    }
    if (best_at == pieces.size()) return pieces;
    pieces[best_at] += pieces[best_at + 1];
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

// Random pieces: equal scores, pieces whose characters are no tokens, and space marks in any place
// (words cannot be merged alone), only at the start (all can), or after one letter (some can).
TEST(SpmTokenizer, AgreesWithTheDefinition) {
  std::mt19937 random(5);
  const std::vector<std::string> letters = {"a", "b", "\u00E9", "\u2581"};
  for (int round = 0; round < 200; ++round) {
    Vocabulary v = small_spm({});
    v.add_space_prefix = false;
    for (int i = 0; i < 25; ++i) {
      std::string piece;
      const size_t size = 1 + random() % 5;
      for (size_t k = 0; k < size; ++k) {
        const bool mark_allowed =
            k == 0 || round % 3 == 0 || (round % 3 == 1 && piece.ends_with('b'));
        piece += letters[random() % (mark_allowed ? 4 : 3)];
      }
      if (ids(v, {piece})[0] >= 0) continue;
      add_token(v, piece, TokenType::Normal, -static_cast<float>(random() % 6));
    }
    std::string text;
    std::string marked;
    const size_t size = round % 10 == 0 ? 120 : 1 + random() % 30;
    for (size_t k = 0; k < size; ++k) {
      const std::string& letter = letters[random() % 4];
      marked += letter;
      text += letter == "\u2581" ? " " : letter;
    }
    std::vector<Token> expected;
    for (const std::string& piece : pieces_by_definition(v, marked)) {
      const Token token = ids(v, {piece})[0];
      if (token >= 0) {
        expected.push_back(token);
      } else {
        for (const char c : piece) expected.push_back(3 + static_cast<uint8_t>(c));
      }
    }
    ASSERT_EQ(encode(v, text), expected) << "round " << round << ": " << text;
  }
}

}  // namespace
}  // namespace tenon
