// Pre-tokenizers against words derived from their patterns by hand, and by another regex engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/bpe/pre_tokenizer.h"

namespace tenon {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view name, std::string_view text) {
  Words words;
  const SplitPatterns patterns = compile_patterns(pre_tokenizer_of(name).patterns);
  Splitter splitter(patterns);
  splitter.split(text, [&words](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(PreTokenizer, EmptyTextHasNoWords) {
  EXPECT_EQ(split("gpt-2", ""), Words{});
  EXPECT_EQ(split("deepseek-llm", ""), Words{});
}

TEST(PreTokenizer, Gpt2CutsContractionsInLowerCaseOnly) {
  EXPECT_EQ(split("gpt-2", "I've we'll he'd 'RE"),
            (Words{"I", "'ve", " we", "'ll", " he", "'d", " '", "RE"}));
  EXPECT_EQ(split("gpt-2", "'"), Words{"'"});
  EXPECT_EQ(split("gpt-2", "'l"), (Words{"'", "l"}));
}

TEST(PreTokenizer, Gpt2LeavesOneSpaceForTheWordThatFollows) {
  EXPECT_EQ(split("gpt-2", "a   b"), (Words{"a", "  ", " b"}));
  EXPECT_EQ(split("gpt-2", "a   "), (Words{"a", "   "}));
  EXPECT_EQ(split("gpt-2", "a\n\n b"), (Words{"a", "\n\n", " b"}));
  EXPECT_EQ(split("gpt-2", "a\n\nb"), (Words{"a", "\n", "\n", "b"}));
  EXPECT_EQ(split("gpt-2", " \u3000x"), (Words{" ", "\u3000", "x"}));
}

TEST(PreTokenizer, Gpt2KeepsNumbersWholeAndMarksWithTheirKind) {
  EXPECT_EQ(split("gpt-2", "x 12345\u00BD."), (Words{"x", " 12345\u00BD", "."}));
  EXPECT_EQ(split("gpt-2", "e\u0301a"), (Words{"e", "\u0301", "a"}));  // a mark is no letter
  const std::string family = "\U0001F468\u200D\U0001F469";             // joined by U+200D
  EXPECT_EQ(split("gpt-2", "hi " + family + "!"), (Words{"hi", " " + family + "!"}));
}

TEST(PreTokenizer, Llama3CutsContractionsInAnyCase) {
  EXPECT_EQ(split("llama-bpe", "I'VE we'Ll"), (Words{"I", "'VE", " we", "'Ll"}));
  EXPECT_EQ(split("llama-bpe", "a'\u017Fx"), (Words{"a", "'\u017F", "x"}));  // long s folds to s
}

TEST(PreTokenizer, Llama3CutsDigitsByThreeAndQwen2ByOne) {
  EXPECT_EQ(split("llama-bpe", "1234567"), (Words{"123", "456", "7"}));
  EXPECT_EQ(split("llama-bpe", " 12"), (Words{" ", "12"}));
  EXPECT_EQ(split("qwen2", "123"), (Words{"1", "2", "3"}));
}

TEST(PreTokenizer, Llama3GivesAnySignToTheLettersAfterIt) {
  EXPECT_EQ(split("llama-bpe", "(normal)"), (Words{"(normal", ")"}));
  EXPECT_EQ(split("llama-bpe", "\tx"), Words{"\tx"});
  EXPECT_EQ(split("llama-bpe", "\nx"), (Words{"\n", "x"}));
  EXPECT_EQ(split("llama-bpe", "5x"), (Words{"5", "x"}));
}

TEST(PreTokenizer, Llama3EndsSpacesAtTheLastLineBreak) {
  EXPECT_EQ(split("llama-bpe", "a \n \r\n  b"), (Words{"a", " \n \r\n", " ", " b"}));
  EXPECT_EQ(split("llama-bpe", "!\n\n x"), (Words{"!\n\n", " x"}));
  EXPECT_EQ(split("llama-bpe", "a  "), (Words{"a", "  "}));
}

TEST(PreTokenizer, StarcoderFamilyIsolatesDigits) {
  for (const auto* name : {"starcoder", "refact", "command-r", "smollm"}) {
    EXPECT_EQ(split(name, "a 12b"), (Words{"a", " ", "1", "2", "b"})) << name;
  }
}

TEST(PreTokenizer, FalconIsolatesPunctuationAndThreeDigits) {
  EXPECT_EQ(split("falcon", "a,b $12345 `x`"),
            (Words{"a", ",", "b", " ", "$", "123", "45", " ", "`", "x", "`"}));
  EXPECT_EQ(split("falcon", "I've"), (Words{"I", "'", "ve"}));
}

TEST(PreTokenizer, DefaultIsolatesNumbersFromTheSpaceBefore) {
  EXPECT_EQ(split("default", "a 12345"), (Words{"a", " ", "123", "45"}));
  EXPECT_EQ(split("", "`x`"), split("default", "`x`"));
  EXPECT_EQ(split("default", "`x`"), (Words{"`", "x", "`"}));
}

TEST(PreTokenizer, DeepseekLlmCutsListedLettersThenAsciiRuns) {
  // The third pattern matches A-Z again, inside matches of the second.
  EXPECT_EQ(split("deepseek-llm", "\u00C4pfel"), (Words{"\u00C4", "pfel"}));
  EXPECT_EQ(split("deepseek-llm", "a\r\nb  "), (Words{"a", "\r", "\n", "b", "  "}));
  EXPECT_EQ(split("deepseek-llm", "a  b"), (Words{"a", " ", " b"}));
  EXPECT_EQ(split("deepseek-llm", "\u6211\u60F3x12"), (Words{"\u6211\u60F3", "x", "12"}));
}

TEST(PreTokenizer, DeepseekCoderIsolatesDigits) {
  EXPECT_EQ(split("deepseek-coder", "x 12, y"), (Words{"x", " ", "1", "2", ",", " y"}));
  EXPECT_EQ(split("deepseek-coder", " \u00C4pfel"), Words{" \u00C4pfel"});
}

TEST(PreTokenizer, Spark25IsolatesDigitsAndLineEnds) {
  EXPECT_EQ(split("spark2_5", "a 123\n\n b!!\n"),
            (Words{"a", " ", "1", "2", "3", "\n", "\n", " b", "!!", "\n"}));
}

TEST(PreTokenizer, UfakzekaLeavesEndingsWhole) {
  EXPECT_EQ(split("ufakzeka", "Ali'den 12"), (Words{"Ali", "'den", " ", "1", "2"}));
  EXPECT_EQ(split("qwen2", "Ali'den"), (Words{"Ali", "'d", "en"}));
}

TEST(PreTokenizer, UnknownNameIsUnsupportedAndTheNearestIsNamed) {
  try {
    pre_tokenizer_of("lama-bpe");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Unsupported);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("\"lama-bpe\""));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("\"llama-bpe\""));
  }
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

/// Compares with the words in a file, by backtracking and by the table.
void expect_words_of(const std::string& file, size_t names, int texts_per_name) {
  std::ifstream in(std::filesystem::path(TENON_TEST_DATA_DIR) / "text" / file);
  ASSERT_TRUE(in);
  std::map<std::string, int> checked;
  std::map<std::string, SplitPatterns> compiled;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    Words expected;
    std::string text;
    for (std::string hex; fields >> hex;) {
      expected.push_back(from_hex(hex));
      text += expected.back();
    }
    const auto [place, is_new] = compiled.try_emplace(name);
    if (is_new) place->second = compile_patterns(pre_tokenizer_of(name).patterns);
    for (const bool by_table : {false, true}) {
      Words words;
      Splitter splitter(place->second);
      splitter.always_use_tables(by_table);
      splitter.split(text, [&words](std::string_view word) { words.emplace_back(word); });
      EXPECT_EQ(words, expected) << line << (by_table ? " by table" : "");
    }
    ++checked[name];
  }
  EXPECT_EQ(checked.size(), names);
  for (const auto& [name, count] : checked) EXPECT_EQ(count, texts_per_name) << name;
}

TEST(PreTokenizer, AgreesWithAnotherRegexEngine) {
  expect_words_of("splits.txt", 8, 120);
  expect_words_of("more_splits.txt", 20, 60);
}

TEST(PreTokenizer, EveryNameCompiles) {
  EXPECT_GE(pre_tokenizers().size(), 80u);
  std::set<std::string_view> names;
  for (const PreTokenizer& entry : pre_tokenizers()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " is there twice";
    EXPECT_EQ(&pre_tokenizer_of(entry.name), &entry);
    EXPECT_NO_THROW(compile_patterns(entry.patterns)) << entry.name;
  }
}

}  // namespace
}  // namespace tenon
