#include "base/utf8.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

using std::string_view_literals::operator""sv;

TEST(Utf8, AcceptsTheFirstAndLastOfEachLength) {
  for (const std::string_view text :
       {""sv, "\0"sv, "\x7f"sv, "\xc2\x80"sv, "\xdf\xbf"sv, "\xe0\xa0\x80"sv, "\xed\x9f\xbf"sv,
        "\xee\x80\x80"sv, "\xef\xbf\xbf"sv, "\xf0\x90\x80\x80"sv, "\xf4\x8f\xbf\xbf"sv}) {
    EXPECT_TRUE(is_utf8(text)) << quoted(text);
  }
}

TEST(Utf8, RefusesOverlongSurrogatesAndCutForms) {
  for (const std::string_view text :
       {"\x80"sv, "\xc0\x80"sv, "\xc1\xbf"sv, "\xe0\x9f\xbf"sv, "\xed\xa0\x80"sv,
        "\xf0\x8f\xbf\xbf"sv, "\xf4\x90\x80\x80"sv, "\xf5\x80\x80\x80"sv, "\xff"sv, "\xc2"sv,
        "\xe2\x82"sv, "a\xf0\x9f\x98"sv, "\xc2 "sv, "\xe2\x82z"sv}) {
    EXPECT_FALSE(is_utf8(text)) << quoted(text);
  }
}

TEST(Utf8, QuotedIsAlwaysSafeToPrint) {
  EXPECT_EQ(quoted("a\"b\\"), "\"a\\\"b\\\\\"");
  EXPECT_EQ(quoted("\n\xff\x7f\0é"sv), "\"\\x0a\\xff\\x7f\\x00é\"");
  EXPECT_EQ(quoted("abcdef", 3), "\"abc...\"");
  EXPECT_EQ(quoted("abc", 3), "\"abc\"");
  // Not cut inside a character.
  EXPECT_EQ(quoted("aéé", 4), "\"aé...\"");
}

}  // namespace
}  // namespace tenon
