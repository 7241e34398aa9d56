#include "sampler/stop_strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "sampler/logprobs.h"
#include "tests/base/processor_time.h"

namespace tenon {
namespace {

/// Text shown to a reader after the pieces, with '|' where it stopped.
std::string shown(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopStream stream;
  stream.restart(std::make_shared<const StopStrings>(stops));
  std::string out;
  for (const std::string& piece : pieces) {
    const auto now = stream.push(piece);
    out += now.text;
    if (now.stopped) return out + "|";
  }
  out += "+";
  out += stream.finish();
  return out;
}

Code code_of(const std::vector<std::string>& stops) {
  try {
    StopStrings made(stops);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::Ok;
}

TEST(StopStrings, RefusesWhatMakesNoSense) {
  EXPECT_EQ(code_of({""}), Code::Argument);
  EXPECT_EQ(code_of({"a", "\xFF"}), Code::Argument);
  EXPECT_EQ(code_of(std::vector<std::string>(10'000, "a")), Code::Limit);
  EXPECT_EQ(code_of({std::string(70'000, 'a')}), Code::Limit);
  EXPECT_EQ(code_of({"a", "a", "ab"}), Code::Ok);
}

TEST(StopStrings, NothingOfAStopIsShown) {
  EXPECT_EQ(shown({"</s>"}, {"hello", " <", "/", "s>", "x"}), "hello |");
  EXPECT_EQ(shown({"</s>"}, {"hello </s> x"}), "hello |");
  EXPECT_EQ(shown({"</s>"}, {"a <", "b"}), "a <b+");
  EXPECT_EQ(shown({"</s>"}, {"a </", "s"}), "a +</s");
  EXPECT_EQ(shown({"\n\n"}, {"a\n", "b\n", "\n"}), "a\nb|");
}

TEST(StopStrings, TheFirstToEndStopsFromWhereTheLongestBegins) {
  EXPECT_EQ(shown({"abc", "bc"}, {"xabcx"}), "x|");
  EXPECT_EQ(shown({"abcd", "bc"}, {"xabcx"}), "xa|");
  EXPECT_EQ(shown({"aab"}, {"aaa", "a", "b"}), "aa|");
  EXPECT_EQ(shown({"abab", "abc"}, {"ababc"}), "|");
  EXPECT_EQ(shown({"abac", "b"}, {"zzab"}), "zza|");
}

TEST(StopStrings, HoldsNoMoreThanNeeded) {
  StopStream stream;
  stream.restart(std::make_shared<const StopStrings>(std::vector<std::string>{"END."}));
  EXPECT_EQ(stream.push("the EN").text, "the ");
  EXPECT_EQ(stream.push("E").text, "EN");
  EXPECT_EQ(stream.push("nd").text, "End");
  EXPECT_EQ(stream.finish(), "");
  stream.restart(nullptr);
  EXPECT_EQ(stream.push("END.").text, "END.");
}

TEST(StopStrings, ALongBeginningOfAStopIsNotCopiedForEachPiece) {
  const std::vector<std::string> stops{std::string(65'000, 'a') + "b"};
  const auto made = std::make_shared<const StopStrings>(stops);
  const auto seconds = [&](size_t size) {
    return processor_seconds([&] {
      StopStream stream;
      stream.restart(made);
      size_t num_shown = 0;
      for (size_t i = 0; i < size; ++i) num_shown += stream.push("a").text.size();
      EXPECT_EQ(num_shown + stream.finish().size(), size);
    });
  };
  EXPECT_LE(seconds(300'000), 25 * std::max(seconds(30'000), 0.002));
}

TEST(Logprobs, AreThoseOfTheLogits) {
  const std::vector<float> logits = {std::log(0.2f), std::log(0.5f), -INFINITY, std::log(0.1f),
                                     std::log(0.2f)};
  const std::vector<int32_t> tokens = {1, 2};
  std::vector<float> of(2);
  std::vector<int32_t> top(4);
  std::vector<float> top_of(4);
  logprobs_of(logits, tokens, of, top, top_of);
  EXPECT_NEAR(of[0], std::log(0.5), 1e-6);
  EXPECT_EQ(of[1], -INFINITY);
  EXPECT_EQ(top, (std::vector<int32_t>{1, 0, 4, 3}));
  EXPECT_NEAR(top_of[2], std::log(0.2), 1e-6);
}

TEST(Logprobs, RefuseBrokenLogitsAndForeignTokens) {
  std::vector<float> one(1);
  std::vector<int32_t> top;
  const std::vector<float> logits = {0, 1};
  EXPECT_THROW(logprobs_of(logits, std::vector<int32_t>{2}, one, top, {}), Error);
  EXPECT_THROW(logprobs_of(logits, std::vector<int32_t>{-1}, one, top, {}), Error);
  EXPECT_THROW(logprobs_of(std::vector<float>{NAN}, {}, {}, top, {}), Error);
  EXPECT_THROW(logprobs_of(std::vector<float>{-INFINITY}, {}, {}, top, {}), Error);
  std::vector<int32_t> three(3);
  std::vector<float> three_of(3);
  EXPECT_THROW(logprobs_of(logits, {}, {}, three, three_of), Error);
}

}  // namespace
}  // namespace tenon
