// RWKV, PLaMo 2, BPE over characters, and edge cases of Unigram and WordPiece.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/text/small_vocabularies.h"
#include "text/tokenizer/tokenizer.h"
#include "text/unicode/charsmap.h"

namespace tenon {
namespace {

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
  EXPECT_EQ(encode(v, "a<mask>b", {.parse_special = true}),
            ids(v, {"\u2581", "a", "<mask>", "\u2581", "b"}));
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

TEST(Unigram, WordsCutApartAreThoseOfTheWholeText) {
  Vocabulary v = small_unigram();
  const std::string text = "ab abab  ba\u4E2D \u4E2D\u6587 abababab a b aab baabaab abbabbaba ab";
  const std::vector<Token> apart = encode(v, text);
  // With so low a score, a piece that crosses into another word never wins.
  add_token(v, "b\u2581a", TokenType::Normal, -50.0f);
  EXPECT_EQ(encode(v, text), apart);
  EXPECT_EQ(make_tokenizer(v)->decode(encode(v, "ab abab  ba")), "ab abab  ba");
  // A likely piece wins.
  v.scores.back() = -0.5f;
  EXPECT_EQ(encode(v, "b a"), ids(v, {"\u2581", "b\u2581a"}));
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

TEST(Unigram, RefusesInfiniteScores) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float score : {kInfinity, -kInfinity}) {
    Vocabulary v = small_unigram();
    v.scores.back() = score;
    EXPECT_EQ(code_of(v), Code::Format);
  }
  // Sums of the lowest scores are still finite.
  Vocabulary v = small_unigram();
  for (float& score : v.scores) score = std::numeric_limits<float>::lowest();
  EXPECT_FALSE(encode(v, std::string(40'000, 'x')).empty());
}

/// A table that replaces byte `key` by the text at byte `place` of `replacements`.
std::string charsmap_of(uint8_t key, uint32_t place, std::string_view replacements) {
  constexpr uint32_t kLeaves = 256;  // start of the leaves of the 256 bytes
  std::vector<uint32_t> units(2 * kLeaves);
  units[key] = key | 1u << 8 | kLeaves << 10;
  units[kLeaves ^ key] = place;
  std::string out(4, '\0');
  out[1] = static_cast<char>(units.size() * sizeof units[0] >> 8);
  for (const uint32_t unit : units) {
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(unit >> shift));
  }
  out += replacements;
  out.push_back('\0');
  return out;
}

TEST(Unigram, ReplacesWholeCharactersByWholeOnes) {
  const auto encode_with = [](const std::string& charsmap, std::string_view text) {
    Vocabulary v = small_unigram();
    v.charsmap = charsmap;
    return encode(v, text);
  };
  const Vocabulary v = small_unigram();
  const std::string bar = "a\u2581b";
  EXPECT_EQ(encode_with(charsmap_of('x', 0, "ab"), "x"), encode(v, "ab"));
  EXPECT_EQ(encode_with(charsmap_of('x', 1, "ab"), "x"), encode(v, "b"));
  // A lead byte is no character, and an entry inside a replacement replaces nothing.
  EXPECT_EQ(encode_with(charsmap_of(0xE2, 0, "ab"), bar), encode(v, bar));
  EXPECT_EQ(encode_with(charsmap_of('x', 1, "\u2581"), "axb"), encode(v, "axb"));
  // Replacements that are no text, or too long.
  Vocabulary broken = small_unigram();
  broken.charsmap = charsmap_of('x', 0, "\xE2\x96");
  EXPECT_EQ(code_of(broken), Code::Format);
  broken.charsmap = charsmap_of('x', 0, std::string(CharsMap::kMaxReplacementBytes, 'a'));
  EXPECT_EQ(code_of(broken), Code::Ok);
  broken.charsmap = charsmap_of('x', 0, std::string(CharsMap::kMaxReplacementBytes + 1, 'a'));
  EXPECT_EQ(code_of(broken), Code::Limit);
}

TEST(Unigram, TablesThatLeadRoundInACircleEnd) {
  std::vector<uint32_t> units(128);
  units['a'] = 'a' << 10 | 'a';  // an "a" leads back to its own node
  std::string charsmap("\0\2\0\0", 4);
  for (const uint32_t unit : units) {
    for (int shift = 0; shift < 32; shift += 8)
      charsmap.push_back(static_cast<char>(unit >> shift));
  }
  Vocabulary v = small_unigram();
  const std::string text(1'000'000, 'a');
  const std::vector<Token> expected = encode(v, text);
  v.charsmap = charsmap + std::string("b\0", 2);
  EXPECT_EQ(encode(v, text), expected);
}

TEST(Unigram, ReplacementsMakeTextsLongerWithinLimits) {
  Vocabulary v = small_unigram();
  v.charsmap = charsmap_of('x', 0, std::string(CharsMap::kMaxReplacementBytes, 'a'));
  EXPECT_FALSE(encode(v, "x").empty());
  try {
    (void)encode(v, std::string(10'000, 'x'));
    ADD_FAILURE() << "encoded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Limit);
  }
}

TEST(EveryKind, FindsNoTokenInsideACharacter) {
  for (const Vocabulary& v :
       {small_unigram(), small_wordpiece(), small_char_bpe(), small_bpe(), small_spm()}) {
    Vocabulary cut = v;
    add_token(cut, "\x96\x81", TokenType::Control);
    add_token(cut, "\xE2", TokenType::UserDefined);
    for (const std::string text : {"\u2581", "ab\u2581", "\u2581ab \u2582\u2581"}) {
      EXPECT_EQ(encode(cut, text, {.parse_special = true}),
                encode(v, text, {.parse_special = true}))
          << v.model << ": " << text;
    }
  }
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

TEST(CharBpe, FindsTokensThatReachIntoAnotherWord) {
  Vocabulary v = small_char_bpe();
  add_token(v, "b\u2581");
  add_token(v, "b\u2581ab");
  v.merges.insert(v.merges.begin(), "b \u2581");
  v.merges.push_back("b\u2581 ab");
  EXPECT_EQ(encode(v, "ab aba ab"), ids(v, {"a", "b\u2581ab", "a", "\u2581ab"}));
}

TEST(CharBpe, Gemma4BeginsWithItsTokenWhateverTheFileSays) {
  Vocabulary v = small_char_bpe();
  v.bos = add_token(v, "<bos>", TokenType::Control);
  EXPECT_EQ(encode(v, "ab", {.add_special = true}), ids(v, {"<bos>", "ab"}));
}

TEST(CharBpe, SpacesOnlySeparateWhereTheNameSaysSo) {
  Vocabulary v = small_char_bpe();
  v.model = v.pre = "whitespace";
  EXPECT_EQ(encode(v, " ab\u3000 a\n"), ids(v, {"ab", "a"}));
  v.lowercase = true;
  EXPECT_EQ(encode(v, "ab AB"), ids(v, {"ab", "ab"}));
}

TEST(HybridDna, TagsHoldSixLettersAToken) {
  Vocabulary v = small_bpe({"C C"});
  v.model = "hybriddna";
  add_token(v, "<dna>");
  add_token(v, "</dna>");
  EXPECT_EQ(encode(v, "<dna>").size(), 5u);  // without <oov> it is text
  add_token(v, "<oov>");
  add_token(v, "ACGTAC\uE000");
  add_token(v, "CCAAAA\uE000");
  EXPECT_EQ(
      encode(v, "CC<dna>acgtacCC</dna>CC<dna>ACGTNN"),
      ids(v, {"CC", "<dna>", "ACGTAC\uE000", "CCAAAA\uE000", "</dna>", "CC", "<dna>", "<oov>"}));
  EXPECT_EQ(encode(v, "<dna></dna>"), ids(v, {"<dna>", "</dna>"}));
  EXPECT_EQ(make_tokenizer(v)->decode(encode(v, "<dna>ACGTAC</dna>")), "<dna>ACGTAC</dna>");
}

/// Tokens with small integer scores, so that many segmentations cost the same.
Vocabulary small_plamo2(std::mt19937& random) {
  Vocabulary v;
  v.model = "plamo2";
  add_token(v, "<|plamo:unk|>", TokenType::Unknown);
  for (int byte = 0; byte < 256; ++byte) {
    add_token(v, fmt::format("<0x{:02X}>", byte), TokenType::Byte);
  }
  constexpr std::string_view kCharacters[] = {"a", "b", "\u00E9", "\u4E2D", " "};
  for (int i = 0; i < 24; ++i) {
    std::string text;
    for (uint32_t size = 1 + random() % 4; size > 0; --size) {
      // Some words are separable: only one letter has spaces after it.
      const bool space = text.empty() || text.back() == 'b';
      text += kCharacters[random() % (space ? 5 : 4)];
    }
    if (std::find(v.tokens.begin(), v.tokens.end(), text) != v.tokens.end()) continue;
    add_token(v, text, TokenType::Normal, -static_cast<float>(1 + random() % 3));
  }
  return v;
}

/// The definition: from the end, at each character the token with the best sum after it, the
/// longest of equals; the character's bytes if no token begins there.
std::vector<Token> best_from_the_end(const Vocabulary& v, const std::string& text) {
  std::vector<double> sums(text.size() + 1, 0);
  std::vector<Token> first(text.size(), -1);
  std::vector<size_t> ends(text.size(), 0);
  for (size_t at = text.size(); at-- > 0;) {
    if ((static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) continue;
    size_t char_end = at + 1;
    while (char_end < text.size() && (static_cast<uint8_t>(text[char_end]) & 0xC0) == 0x80)
      ++char_end;
    sums[at] = sums[char_end] - 1000;
    ends[at] = char_end;
    for (size_t token = 257; token < v.tokens.size(); ++token) {
      const std::string& piece = v.tokens[token];
      if (text.compare(at, piece.size(), piece) != 0) continue;
      const size_t end = at + piece.size();
      const double sum = sums[end] + double{v.scores[token]};
      if (sum < sums[at] || (sum == sums[at] && end < ends[at])) continue;
      sums[at] = sum;
      ends[at] = end;
      first[at] = static_cast<Token>(token);
    }
  }
  std::vector<Token> out;
  for (size_t at = 0; at < text.size(); at = ends[at]) {
    if (first[at] >= 0) {
      out.push_back(first[at]);
      continue;
    }
    for (size_t i = at; i < ends[at]; ++i) out.push_back(1 + static_cast<uint8_t>(text[i]));
  }
  return out;
}

TEST(Plamo2, TakesTheBestCutFromTheEndAndOfEqualOnesTheLongestToken) {
  std::mt19937 random(3);
  constexpr std::string_view kCharacters[] = {"a", "b", "\u00E9", "\u4E2D", " ", "x", "\U0001F600"};
  for (int round = 0; round < 40; ++round) {
    const Vocabulary v = small_plamo2(random);
    const auto tokenizer = make_tokenizer(v);
    std::string text;
    for (int i = 0; i < 60; ++i) text += kCharacters[random() % 7];
    const std::vector<Token> tokens = tokenizer->encode(text);
    EXPECT_EQ(tokens, best_from_the_end(v, text)) << text;
    EXPECT_EQ(tokenizer->decode(tokens), text);
  }
}

TEST(Plamo2, NeedsEveryByte) {
  std::mt19937 random(3);
  Vocabulary v = small_plamo2(random);
  v.tokens[7] = "lost";
  v.types[7] = TokenType::Normal;
  EXPECT_EQ(code_of(v), Code::Format);
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
