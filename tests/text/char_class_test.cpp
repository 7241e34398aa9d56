#include "text/char_class.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tenon {
namespace {

TEST(CharClass, AsciiTableAgreesWithUnicodeData) {
  for (uint32_t code = 0; code < 128; ++code) {
    const bool is_control_space = code >= 9 && code <= 13;  // \s, though their category is Cc
    const uint8_t expected = is_control_space ? uint8_t{kClassSpace} : wide_char_class(code);
    EXPECT_EQ(kAsciiClasses[code] & ~kClassNewline, expected) << code;
    EXPECT_EQ((kAsciiClasses[code] & kClassNewline) != 0, code == '\r' || code == '\n') << code;
  }
}

TEST(CharClass, SpaceIsUnicodeWhiteSpace) {
  std::vector<uint32_t> spaces;
  for (uint32_t code = 128; code < 0x110000; ++code) {
    if (wide_char_class(code) & kClassSpace) spaces.push_back(code);
  }
  const std::vector<uint32_t> white_space = {0x85,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003,
                                             0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A,
                                             0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
  EXPECT_EQ(spaces, white_space);
}

TEST(CharClass, KnowsTheCategoriesBeyondAscii) {
  EXPECT_EQ(wide_char_class(0x00E9), kClassLetter);
  EXPECT_EQ(wide_char_class(0x4E00), kClassLetter);
  EXPECT_EQ(wide_char_class(0x02B0), kClassLetter);  // Lm
  EXPECT_EQ(wide_char_class(0x00BD), kClassNumber);  // No
  EXPECT_EQ(wide_char_class(0x2167), kClassNumber);  // Nl
  EXPECT_EQ(wide_char_class(0x0301), kClassMark);
  EXPECT_EQ(wide_char_class(0x2018), kClassPunctuation);
  EXPECT_EQ(wide_char_class(0x20AC), kClassSymbol);
  EXPECT_EQ(wide_char_class(0x1F680), kClassSymbol);
  EXPECT_EQ(wide_char_class(0x200D), kClassNone);  // Cf
  EXPECT_EQ(wide_char_class(0x0378), kClassNone);  // unassigned
}

TEST(CharClass, EndOfTextIsNoCharacter) {
  EXPECT_EQ(char_at("ab", 2).size, 0u);
  EXPECT_TRUE(char_at("", 0).is(kClassEnd));
  EXPECT_FALSE(char_at("", 0).is_other());
}

}  // namespace
}  // namespace tenon
