#include "text/tokenizer/special_matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/base/processor_time.h"

namespace tenon {
namespace {

using Matches = std::vector<std::tuple<size_t, size_t, Token>>;

SpecialMatcher matcher_of(const std::vector<std::string>& texts) {
  std::vector<SpecialMatcher::Entry> entries;
  for (const std::string& text : texts)
    entries.push_back({text, static_cast<Token>(entries.size())});
  return SpecialMatcher(entries);
}

Matches find(const SpecialMatcher& matcher, std::string_view text) {
  Matches out;
  for (const auto& found : matcher.find_all(text)) {
    out.emplace_back(found.begin, found.size, found.token);
  }
  return out;
}

Matches find_by_definition(const std::vector<std::string>& texts, std::string_view text) {
  Matches out;
  for (size_t at = 0; at < text.size();) {
    size_t best = 0;
    Token token = -1;
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].size() > best && text.substr(at).starts_with(texts[i])) {
        best = texts[i].size();
        token = static_cast<Token>(i);
      }
    }
    if (best > 0) out.emplace_back(at, best, token);
    at += best > 0 ? best : 1;
  }
  return out;
}

TEST(SpecialMatcher, WithoutStringsFindsNothing) {
  const SpecialMatcher matcher = matcher_of({});
  EXPECT_TRUE(matcher.empty());
  EXPECT_EQ(find(matcher, "abc"), Matches{});
}

// Long texts are searched in blocks of 65536 bytes.
TEST(SpecialMatcher, FindsWhatReachesFromOneBlockIntoTheNext) {
  std::mt19937 random(2);
  const std::vector<std::string> texts = {"ab", "ba", "aaa", std::string(9'000, 'a') + "b"};
  const SpecialMatcher matcher = matcher_of(texts);
  for (size_t size : {65'535u, 65'537u, 200'000u}) {
    std::string text;
    while (text.size() < size) {
      text += random() % 9 == 0 ? std::string(8'990 + random() % 20, 'a') : std::string(1, 'c');
      text += random() % 2 == 0 ? 'b' : 'c';
    }
    EXPECT_EQ(find(matcher, text), find_by_definition(texts, text));
  }
}

TEST(SpecialMatcher, TakesTheEarliestThenTheLongest) {
  const SpecialMatcher matcher = matcher_of({"ab", "bcd", "abc", "<|x|>"});
  EXPECT_EQ(find(matcher, "abcd"), (Matches{{0, 3, 2}}));
  EXPECT_EQ(find(matcher, "xbcdab"), (Matches{{1, 3, 1}, {4, 2, 0}}));
  EXPECT_EQ(find(matcher, "<|x<|x|>|>"), (Matches{{3, 5, 3}}));
  EXPECT_EQ(find(matcher, ""), Matches{});
}

TEST(SpecialMatcher, AgreesWithTheDefinition) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 8; ++i) {
      std::string text(1 + random() % 5, 'a');
      for (char& c : text) c = static_cast<char>('a' + random() % 2);
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
    }
    std::string text(60, 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    EXPECT_EQ(find(matcher_of(texts), text), find_by_definition(texts, text)) << text;
  }
}

// "a" and "aaa...ab": each position looks like the start of the long string for its whole length.
TEST(SpecialMatcher, TimeDoesNotGrowWithTheLengthOfTheStrings) {
  const SpecialMatcher matcher = matcher_of({"a", std::string(100'000, 'a') + "b"});
  const std::string text(2'000'000, 'a');
  const double seconds =
      processor_seconds([&] { EXPECT_EQ(matcher.find_all(text).size(), text.size()); });
  EXPECT_LT(seconds, 10.0);  // 0.05 s; a rescan per position would take minutes
}

}  // namespace
}  // namespace tenon
