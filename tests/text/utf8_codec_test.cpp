#include "text/unicode/utf8_codec.h"

#include <gtest/gtest.h>

#include <iterator>
#include <string>

namespace tenon {
namespace {

std::string repaired(std::string_view bytes) {
  std::string out;
  utf8_append_repaired(bytes, out);
  return out;
}

TEST(Utf8Codec, EveryScalarValueComesBackFromItsBytes) {
  for (uint32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string bytes;
    utf8_append(code, bytes);
    const Utf8Unit unit = utf8_unit(bytes);
    ASSERT_EQ(unit.kind, Utf8Unit::Whole) << code;
    ASSERT_EQ(unit.size, bytes.size()) << code;
    ASSERT_EQ(unit.code, code);
    // Each proper prefix is unfinished, not ill-formed.
    for (size_t n = 1; n < bytes.size(); ++n) {
      const Utf8Unit part = utf8_unit(std::string_view(bytes).substr(0, n));
      ASSERT_EQ(part.kind, Utf8Unit::Unfinished) << code;
      ASSERT_EQ(part.size, n);
    }
  }
}

TEST(Utf8Codec, RefusesOverlongFormsSurrogatesAndTooLarge) {
  for (const std::string_view bytes :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xC2\x41", "\xE1\x80\x41"}) {
    EXPECT_EQ(utf8_unit(bytes).kind, Utf8Unit::IllFormed) << repaired(bytes);
    EXPECT_EQ(utf8_valid_prefix(bytes), 0u);
  }
}

TEST(Utf8Codec, ReplacesMaximalIllFormedParts) {
  // The example of Unicode 15, table 3-8.
  EXPECT_EQ(repaired("a\xF1\x80\x80\xE1\x80\xC2"
                     "b\x80"
                     "c\x80\xBF"
                     "d"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(repaired("x\xF0\x9F\x9A"), "x\uFFFD");
  EXPECT_EQ(repaired(""), "");
  EXPECT_EQ(repaired("fine \u00E9 \U0001F680"), "fine \u00E9 \U0001F680");
}

TEST(Utf8Codec, APrefixCutsNoCharacter) {
  const std::string text = "a\u00E9\u4E00";  // 1, 2 and 3 bytes
  const size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6};
  for (size_t most = 0; most < std::size(ends); ++most) {
    EXPECT_EQ(utf8_prefix(text, most), text.substr(0, ends[most])) << most;
  }
}

TEST(Utf8Codec, ValidPrefixStopsAtTheFirstFault) {
  const std::string good = "0123456789 \u00E9\u4E00\U0001F680 0123456789";
  EXPECT_EQ(utf8_valid_prefix(good), good.size());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = '\xFF';
    EXPECT_LE(utf8_valid_prefix(bad), i);
    EXPECT_GE(utf8_valid_prefix(bad) + 3, i);  // at most the character that i lies in
  }
}

}  // namespace
}  // namespace tenon
