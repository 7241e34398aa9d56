// Lark grammars as patterns: the texts they accept, and refusals with their line.
#include "server/compat/lark_pattern.h"

#include <gmock/gmock.h>

#include <string>
#include <tenon/grammar.hpp>

#include "server/work/work_limit.h"

namespace tenon_http::test {
namespace {

bool accepts(const std::string& grammar, const std::string& text) {
  return tenon::Grammar::regular_expression(lark_pattern(grammar)).accepts(text);
}

void expect_refused_because(const std::string& grammar, const std::string& reason) {
  try {
    (void)lark_pattern(grammar);
    FAIL() << grammar;
  } catch (const LarkError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(reason)) << grammar;
  }
}

TEST(LarkPattern, RefusesWhatAPatternCannotSay) {
  expect_refused_because("a: \"x\"", "\"start\" is not defined");
  expect_refused_because("start: a\na: \"x\" start?", "needs itself");
  expect_refused_because("start: \"x\"\n%ignore \" \"", "line 2: %ignore is not taken");
  expect_refused_because("start: pair{\"x\"}\npair{a}: a a", "templates");
  expect_refused_because("start: \"x\"\n%import python.NAME", "common");
  expect_refused_because("%import common.SHELL_COMMENT\nstart: \"x\"", "SHELL_COMMENT");
  expect_refused_because("start: /x/i", "flag i");
  expect_refused_because("start: \"x", "does not end");
  expect_refused_because("start: \"\"", "empty");
  expect_refused_because("start: (\"x\"", "\")\" is missing");
  expect_refused_because("start: \"x\" )", "there is \")\"");
  expect_refused_because("start: \"x\" ~ 999999999", "count");
  expect_refused_because("start: \"x\"\nstart: \"y\"", "defined twice");
  expect_refused_because("start: \"b\"..\"a\"", "range");
  expect_refused_because("\"x\"", "is missing");
  expect_refused_because("?!", "is missing");  // modifiers without a rule
  std::string twice = "start: a0 a0\n";
  for (int i = 0; i < 40; ++i) {
    const std::string next = "a" + std::to_string(i + 1);
    twice += "a" + std::to_string(i) + ": " + next + " " + next + "\n";
  }
  expect_refused_because(twice + "a40: \"x\"", "longer than 256 KiB");
  expect_refused_because("start: " + std::string(10000, '('), "nested deeper");
}

/// `count` alternatives or repetitions of a long text.
std::string times(size_t count, const std::string& text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(LarkPattern, SpendsBeforeItGrows) {
  const std::string letters = "\nb: \"" + std::string(200000, 'x') + "\"";
  for (const std::string& body :
       {times(3000, "|b"), times(3000, " (b)"), "|" + times(3000, "[b]"), times(3000, "|b~1..2")}) {
    expect_refused_because("start: b" + body + letters, "longer than 256 KiB");
  }
  // Each level of nesting writes its own copy.
  expect_refused_because("start: \"" + std::string(100000, 'x') + "\"" + std::string(200000, '?'),
                         "more than 16 MiB");
  std::string rules = "start: a0\n";
  for (int i = 0; i < 150; ++i) {
    rules += "a" + std::to_string(i) + ": a" + std::to_string(i + 1) + "\n";
  }
  expect_refused_because(rules + "a150: \"" + std::string(200000, 'x') + "\"", "more than 16 MiB");
  expect_refused_because("start: /" + std::string(300000, '.') + "/", "longer than 256 KiB");
}

TEST(LarkPattern, ReplacesDotsInOnePass) {
  EXPECT_EQ(lark_pattern("start: /" + std::string(3, '.') + "a[.].\\./"),
            "(?:(?:[^\\n][^\\n][^\\n]a[.][^\\n]\\.))");
  EXPECT_EQ(lark_pattern("start: /" + std::string(30000, '.') + "/s").size(),
            30000 * std::string_view("[\\s\\S]").size() + 8);
}

TEST(LarkPattern, EndsWhenNobodyWantsItAnyMore) {
  const std::string long_one = "start: /" + std::string(40000, '.') + "/";
  WorkLimit limit;
  const WorkLimit::Use use(limit, 1000);
  EXPECT_FALSE(lark_pattern(long_one).empty());
  limit.stop();
  EXPECT_THROW(lark_pattern(long_one), WorkEnd);
}

TEST(LarkPattern, EndsWhenItsTimeIsOver) {
  WorkLimit limit;
  const WorkLimit::Use use(limit, 0);
  EXPECT_THROW(lark_pattern("start: /" + std::string(40000, '.') + "/"), WorkEnd);
}

TEST(LarkPattern, TakesWhatLarkMeans) {
  EXPECT_TRUE(accepts("start: \"a.b\"", "a.b"));
  EXPECT_FALSE(accepts("start: \"a.b\"", "axb"));
  const std::string list =
      "start: item (\",\" item)* // one or more\n?item.2: NUMBER | word -> w\n"
      "word: (\"a\"..\"f\")~2..3\n%import common.NUMBER";
  for (const char* text : {"1", "1,2.5", "ab,cde,7"}) EXPECT_TRUE(accepts(list, text)) << text;
  for (const char* text : {"", "1,", "abcd", "x"}) EXPECT_FALSE(accepts(list, text)) << text;
  const std::string lines = "start: [\"if\"i \" \"] X\n  | /.+/\nX: /[\\/\\d.]/ # a comment\n";
  for (const char* text : {"If /", "7", "iF .", "anything at all"}) {
    EXPECT_TRUE(accepts(lines, text)) << text;
  }
  EXPECT_FALSE(accepts(lines, "a\nb"));
  EXPECT_TRUE(accepts("start: /.+/s", "a\nb"));
  EXPECT_TRUE(accepts("start: \"\\n\\t\\\"\\\\\" \"\u6f22\"", "\n\t\"\\\u6f22"));
}

TEST(LarkPattern, TakesPatchesOfAgents) {
  const std::string patch =
      "start: begin_patch hunk+ end_patch\n"
      "begin_patch: \"*** Begin Patch\" LF\n"
      "end_patch: \"*** End Patch\" LF?\n\n"
      "hunk: add_hunk | update_hunk\n"
      "add_hunk: \"*** Add File: \" filename LF add_line+\n"
      "update_hunk: \"*** Update File: \" filename LF change_move? change?\n\n"
      "filename: /(.+)/\n"
      "add_line: \"+\" /(.*)/ LF -> line\n\n"
      "change_move: \"*** Move to: \" filename LF\n"
      "change: (change_context | change_line)+ eof_line?\n"
      "change_context: (\"@@\" | \"@@ \" /(.+)/) LF\n"
      "change_line: (\"+\" | \"-\" | \" \") /(.*)/ LF\n"
      "eof_line: \"*** End of File\" LF\n\n"
      "%import common.LF\n";
  EXPECT_TRUE(
      accepts(patch,
              "*** Begin Patch\n*** Add File: a/b.txt\n+one\n+\n*** Update File: c\n@@ f()\n"
              "-x\n+y\n z\n*** End Patch"));
  EXPECT_FALSE(accepts(patch, "*** Begin Patch\n*** Add File: a\none\n*** End Patch"));
  EXPECT_FALSE(accepts(patch, "*** Begin Patch\n*** End Patch"));
  const std::string source =
      "start: pragma_source | plain_source\npragma_source: PRAGMA_LINE NEWLINE SOURCE\n"
      "plain_source: SOURCE\n\nPRAGMA_LINE: /[ \\t]*\\/\\/ @exec:[^\\r\\n]*/\nNEWLINE: /\\r?\\n/\n"
      "SOURCE: /[\\s\\S]+/\n";
  EXPECT_TRUE(accepts(source, "// @exec: fast\nprint(1)\n"));
}

}  // namespace
}  // namespace tenon_http::test
