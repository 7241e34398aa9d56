// Ten times the text takes about ten times the time, for any text.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/base/processor_time.h"
#include "tests/text/small_vocabularies.h"
#include "text/bpe/pre_tokenizer.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {
namespace {

double seconds_to_encode(const Tokenizer& tokenizer, const std::string& text) {
  return processor_seconds([&] {
    const size_t num_tokens =
        tokenizer.encode(text, {.add_special = true, .parse_special = true}).size();
    EXPECT_LE(num_tokens, text.size() * 4);
  });
}

std::string bytes_of(std::string_view unit, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

const std::vector<std::string> kUnits = {
    "o",  "7",  " ",     "\n",         "'",          "\u0301",         "\u200F\u05D0", "\xFF",
    "a ", " a", "\r\n ", "<|im_start", "<|im_end|>", "hello, world! ", "\u4E00",       "\u3000"};

// Quadratic behaviour gives a ratio near 100; the bound leaves room for caches and a busy machine.
// Countable work is counted instead: steps of patterns below, merges in merge_symbols_test.
void expect_linear(const Tokenizer& tokenizer, const std::string& unit) {
  constexpr size_t kBytes = 2'000;
  const double small = seconds_to_encode(tokenizer, bytes_of(unit, kBytes));
  const double large = seconds_to_encode(tokenizer, bytes_of(unit, 10 * kBytes));
  EXPECT_LE(large, 25 * small + 0.01) << "of " << unit;
}

TEST(TokenizerTime, IsLinearForEveryPreTokenizer) {
  std::set<const void*> seen;
  for (const PreTokenizer& pre : pre_tokenizers()) {
    if (pre.characters || !seen.insert(pre.patterns.data()).second) continue;
    SCOPED_TRACE(pre.name);
    Vocabulary v = small_bpe();
    v.pre = pre.name;
    const auto tokenizer = make_tokenizer(std::move(v));
    for (const std::string& unit : kUnits) expect_linear(*tokenizer, unit);
    // A run that ends in another character: patterns look back from the character after a run.
    const std::string spaces = std::string(200'000, ' ') + "x";
    EXPECT_LT(seconds_to_encode(*tokenizer, spaces), 5.0);
  }
}

int64_t steps_over(const Pattern& pattern, const std::string& text) {
  PatternSearch search(pattern);
  search.begin(text);
  for (PatternMatch match; search.next(match);) {
  }
  return search.work();
}

// Counts steps, so that no clock decides.
TEST(TokenizerTime, PatternsTakeStepsInProportionToTheText) {
  std::set<std::string_view> seen;
  for (const PreTokenizer& pre : pre_tokenizers()) {
    for (const std::string_view source : pre.patterns) {
      if (!seen.insert(source).second) continue;
      SCOPED_TRACE(pre.name);
      const Pattern pattern(source);
      for (const std::string& unit : kUnits) {
        if (unit == "\xFF") continue;  // patterns see well-formed text
        constexpr size_t kBytes = 2'000;
        const int64_t small = steps_over(pattern, bytes_of(unit, kBytes));
        const int64_t large = steps_over(pattern, bytes_of(unit, 10 * kBytes));
        // jais-2 looks through all spaces for a line end before it takes 512 of them; the table
        // takes over once the step budget is used up.
        if (pre.name != "jais-2") {
          EXPECT_LE(large, 11 * small + 4096) << "of " << unit;
        }
        EXPECT_LE(large, 10 * 80 * static_cast<int64_t>(kBytes)) << "of " << unit;
      }
    }
  }
}

TEST(TokenizerTime, IsLinearForSentencePiece) {
  const auto tokenizer = make_tokenizer(small_spm());
  for (const std::string& unit : kUnits) expect_linear(*tokenizer, unit);
}

TEST(TokenizerTime, IsLinearForTheOtherKinds) {
  for (const char* model : {"t5", "bert", "rwkv", "gemma4"}) {
    SCOPED_TRACE(model);
    Vocabulary v;
    v.model = model;
    v.bos = v.eos = v.unknown = add_token(v, "<unk>", TokenType::Unknown);
    v.add_bos = v.add_eos = false;
    std::string letters;
    for (int i = 0; i < 100; ++i) add_token(v, letters += 'o', TokenType::Normal, -2.0f - i);
    add_token(v, "\u2581");
    add_token(v, "\u2581oo");
    v.merges = {"o o", "oo oo"};
    const auto tokenizer = make_tokenizer(std::move(v));
    for (const std::string& unit : kUnits) expect_linear(*tokenizer, unit);
  }
}

TEST(TokenizerTime, IsLinearInTheNumberOfSpecialTokens) {
  Vocabulary v = small_bpe();
  for (int i = 0; i < 10'000; ++i) {
    add_token(v, "<special_" + std::to_string(i) + ">", TokenType::UserDefined);
  }
  const auto tokenizer = make_tokenizer(std::move(v));
  EXPECT_LT(seconds_to_encode(*tokenizer, bytes_of("<special_", 1'000'000)), 5.0);
  const auto tokens =
      tokenizer->encode(bytes_of("<special_9999>", 140'000), {.parse_special = true});
  EXPECT_EQ(tokens.size(), 10'000u);
}

}  // namespace
}  // namespace tenon
