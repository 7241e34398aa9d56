// Escapes of JSON strings, written and read.
#include "text/unicode/json_escapes.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  append_json_escaped(text, out);
  return out;
}

TEST(JsonEscapes, AreTheShortestAndOnlyWhereNeeded) {
  EXPECT_EQ(escaped("a/\"\\\n\r\t\b\f\x01\x1F\x7F\u00E9"),
            "a/\\\"\\\\\\n\\r\\t\\b\\f\\u0001\\u001f\x7F\u00E9");
  EXPECT_EQ(escaped(""), "");
}

TEST(JsonEscapes, UnitsAreFourDigitsOfEitherCase) {
  EXPECT_EQ(json_unit("\\u00E9x"), 0xE9u);
  EXPECT_EQ(json_unit("\\ud83d\\ude00"), 0xD83Du);
  for (const char* text : {"", "\\u", "\\u12", "\\u12g4", "u1234", "\\x1234"}) {
    EXPECT_EQ(json_unit(text), std::nullopt) << text;
  }
  std::string out;
  append_json_unit(0xD83D, out);
  EXPECT_EQ(out, "\\ud83d");
}

}  // namespace
}  // namespace tenon
