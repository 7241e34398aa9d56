// Example with custom sampling, and the flag that bans texts, as a user runs them.
#include <gtest/gtest.h>

#include <string>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

TEST(OwnSampling, WritesADocumentOfItsSchemaWhateverIsDrawn) {
  const Folder folder;
  const std::string schema = folder.file("schema", R"({"type":"object","properties":{
      "name":{"type":"string","minLength":1,"maxLength":20},
      "age":{"type":"integer","minimum":0,"maximum":120}},
      "required":["name","age"],"additionalProperties":false})");
  std::string first;
  for (const char* seed : {"1", "2", "3"}) {
    std::string text = output_of(std::string("own_sampling " TENON_DEMO_MODEL " ") + seed);
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(text.back(), '\n');
    text.pop_back();
    const std::string file = folder.file("answer", text);
    EXPECT_EQ(run_program("tenon grammar --json-schema " + schema + " --accepts " + file).exit_code,
              0)
        << text;
    if (*seed == '1') {
      first = text;
    } else {
      EXPECT_NE(text, first) << "it is a draw";
    }
  }
  EXPECT_EQ(run_program("own_sampling /nowhere").exit_code, 1);
  EXPECT_EQ(run_program("own_sampling").exit_code, 1);
  EXPECT_EQ(run_program("own_sampling " TENON_DEMO_MODEL " many").exit_code, 1);
}

TEST(RunBan, KeepsTextsOut) {
  const std::string run =
      "tenon complete " TENON_DEMO_MODEL " 'Once upon a time' --temperature 0 -n 24";
  const std::string plain = output_of(run);
  ASSERT_GT(plain.size(), 12u);
  const std::string banned = plain.substr(4, 3);
  const std::string text = output_of(run + " --ban '" + banned + "' --banned-strings 'never said'");
  EXPECT_EQ(text.find(banned), std::string::npos) << text;
  EXPECT_FALSE(text.empty());
  const Outcome empty = run_program(run + " --ban ''");
  EXPECT_NE(empty.exit_code, 0);
  EXPECT_NE(empty.err.find("banned_strings: an empty text"), std::string::npos) << empty.err;
}

}  // namespace
