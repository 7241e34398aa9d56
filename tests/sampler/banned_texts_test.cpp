// Banned texts: their start, their possible start, and samplers that undo draws.
#include "sampler/banned_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sampler/sampler.h"
#include "tests/base/expect_error.h"

namespace tenon {
namespace {

using testing::HasSubstr;

std::shared_ptr<const BannedTexts> banned(std::vector<std::string> texts,
                                          bool ignore_case = false) {
  return std::make_shared<const BannedTexts>(texts, ignore_case);
}

TEST(BannedTexts, AreTextsWithinLimits) {
  expect_error(Code::Argument, HasSubstr("banned_strings: an empty"), [] { banned({"a", ""}); });
  expect_error(Code::Argument, HasSubstr("not UTF-8"), [] { banned({"\xc3"}); });
  expect_error(Code::Limit, HasSubstr("129 bytes, the limit is 128"),
               [] { banned({std::string(129, 'x')}); });
  expect_error(Code::Limit, HasSubstr("1001 texts, the limit is 1000"),
               [] { banned(std::vector<std::string>(1001, "x")); });
  banned(std::vector<std::string>(500, std::string(128, 'x')));
}

TEST(BanWatch, TellsWhereATextBeginsAndWhereItMay) {
  BanWatch watch;
  EXPECT_FALSE(watch.push("fox"));
  EXPECT_EQ(watch.size(), 0u) << "without texts nothing is counted";
  watch.restart(banned({"fox", "oxen"}));
  EXPECT_FALSE(watch.push("a fo"));
  EXPECT_EQ(watch.size(), 4u);
  EXPECT_EQ(watch.open_from(), 2u);
  EXPECT_FALSE(watch.push("oxe")) << "foox";
  EXPECT_EQ(watch.open_from(), 4u);
  EXPECT_FALSE(watch.push("s"));
  EXPECT_EQ(watch.open_from(), 8u);
  EXPECT_EQ(watch.push("foxes"), 8u);
  watch.restart(banned({"abcd", "bc"}));
  EXPECT_EQ(watch.push("abcd"), 1u) << "the shorter one, which comes first";
  watch.restart(banned({"abc", "bc"}));
  EXPECT_EQ(watch.push("abc"), 1u) << "the shorter one of two that end together";
}

TEST(BanWatch, IgnoresTheCaseOfAscii) {
  BanWatch watch;
  watch.restart(banned({"\xc3\x84rger"}, true));
  EXPECT_EQ(watch.push("\xc3\x84RGER"), 0u);
  watch.restart(banned({"\xc3\x84rger"}, true));
  EXPECT_FALSE(watch.push("\xc3\xa4rger"));
  watch.restart(banned({"az", "@["}, true));
  EXPECT_EQ(watch.push("AZ"), 0u);
  EXPECT_EQ(watch.push("`{"), std::nullopt) << "beside the letters there is no case";
}

TEST(Sampler, TakesDrawsBack) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("mirostat", int64_t{2});
  const std::vector<float> logits = {1, 2, 3, 0.5f};
  std::vector<SamplerMemory> memories;
  std::vector<int32_t> tokens;
  constexpr uint64_t kDraws = 2 * Sampler::kHistory + 10;
  for (uint64_t i = 0; i < kDraws; ++i) {
    memories.push_back(sampler.memory());
    tokens.push_back(sampler.sample(logits, {}, i));
  }
  sampler.roll_back(0);
  for (uint64_t back = 1; back <= 3; ++back) {
    const uint64_t version = sampler.version();
    sampler.roll_back(back);
    EXPECT_NE(sampler.version(), version);
    for (uint64_t i = kDraws - back; i < kDraws; ++i) {
      EXPECT_EQ(sampler.memory().mirostat_surprise, memories[i].mirostat_surprise);
      EXPECT_EQ(sampler.sample(logits, {}, i), tokens[i]);
    }
  }
  sampler.roll_back(Sampler::kHistory);
  EXPECT_EQ(sampler.memory().mirostat_surprise,
            memories[kDraws - Sampler::kHistory].mirostat_surprise);
  expect_error(Code::Argument, HasSubstr("take back 1 draws, 0 are remembered"),
               [&] { sampler.roll_back(1); });
  (void)sampler.sample(logits, {}, 0);
  sampler.forget();
  expect_error(Code::Argument, HasSubstr("0 are remembered"), [&] { sampler.roll_back(1); });
}

}  // namespace
}  // namespace tenon
