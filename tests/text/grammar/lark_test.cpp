// Lark grammars: accepted texts, recursion, strings of a schema, and refusals with their place.
#include <gtest/gtest.h>

#include "tests/text/grammar/refusal.h"
#include "text/grammar/grammar.h"
#include "text/unicode/json_escapes.h"

namespace tenon {
namespace {

std::shared_ptr<const Grammar> lark(std::string_view text) {
  return Grammar::compile(GrammarKind::Lark, text);
}
bool accepts(std::string_view grammar, std::string_view text) {
  return lark(grammar)->accepts(text);
}

void expect_refused(std::string_view text, std::string_view part) {
  const std::string told = refusal(GrammarKind::Lark, text);
  EXPECT_NE(told.find(part), std::string::npos) << text.substr(0, 80) << "\n" << told;
}

std::string times(size_t count, const std::string& text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(Lark, RefusesWithLineAndColumn) {
  expect_refused("a: \"x\"", "there is no rule \"start\"");
  expect_refused("start: \"x\"\n  | a \"y\"", "line 2, column 5: unknown rule \"a\"");
  expect_refused("start: \"x\"\n%declare A", "line 2, column 9: %declare is not supported");
  expect_refused("start: pair{\"x\"}\npair{a}: a a", "line 1, column 12: templates");
  expect_refused("start: \"x\"\npair{a}: a a", "line 2, column 5: templates");
  expect_refused("start: \"x\"\n%import python.NAME", "line 2, column 9: only terminals of common");
  expect_refused("%import common.SHELL_COMMENT\nstart: \"x\"", "common.SHELL_COMMENT is not known");
  expect_refused("%import common NAME\nstart: \"x\"", "%import is of");
  expect_refused("start: /x/m", "line 1, column 11: the flag m");
  expect_refused("start: /x", "regular expression is not closed");
  expect_refused("start: /x\\", "regular expression is not closed");
  expect_refused("start: /[/", "regular expression is not closed");
  expect_refused("start: \"b\"\n  /a(?=b)/", "line 2, column 3: pattern, byte 4: lookaround");
  expect_refused("start: /(?=a)b/", "lookaround");
  expect_refused("start: /^(?=a)b/", "lookaround");
  expect_refused("start: \"x", "a string is not closed");
  expect_refused("start: \"x\nb: \"y\"", "a newline inside quotes");
  expect_refused("start: \"\"", "line 1, column 10: a string is empty");
  expect_refused("start: \"\\d\"", "unknown escape \\d");
  expect_refused("start: (\"x\"", "a ( is not closed");
  expect_refused("start: [\"x\"", "a [ is not closed");
  expect_refused("start: \"x\" )", "line 1, column 12: unexpected \")\"");
  expect_refused("start: \"x\" ~ 9999999999", "more than 1000000000 times");
  expect_refused("start: \"x\" ~ 999999999", "line 1: a repetition of 999999999 times");
  expect_refused("start: \"x\" ~ a", "expected a number after ~");
  expect_refused("start: \"x\" ~ 3..2", "a repetition of 3 to 2 times");
  expect_refused("start: \"x\"\nstart: \"y\"", "line 2, column 7: rule \"start\" is defined again");
  expect_refused("start: \"b\"..\"a\"", "range");
  expect_refused("start: \"ab\"..\"c\"", "range");
  expect_refused("start \"x\"", "expected : after \"start\"");
  expect_refused("\"x\"", "expected the name of a rule");
  expect_refused("?!", "expected the name of a rule at \"the end\"");  // modifiers without a rule
  expect_refused("start: A\nA: \"x\" A?", "line 2: terminal \"A\" needs itself");
  expect_refused("start: \"x\" start", "no token can follow");
  expect_refused("start: \"(\" start /y$/ | \"x\"", "^ and $ in a rule that recurs");
  expect_refused("start: " + std::string(100000, '('), "nested deeper");
  expect_refused("start: \"x\"" + std::string(100000, '?'), "repetitions of repetitions");
  expect_refused("start: " + times(30000, "r "), "unknown rule \"r\"");
}

TEST(Lark, TakesWhatLarkMeans) {
  EXPECT_TRUE(accepts("start: \"a.b\"", "a.b"));
  EXPECT_FALSE(accepts("start: \"a.b\"", "axb"));
  const std::string list =
      "start: item (\",\" item)* // one or more\n?item.2: NUMBER | word -> w\n"
      "word: (\"a\"..\"f\")~2..3\n%import common.NUMBER";
  for (const char* text : {"1", "1,2.5", "ab,cde,7"}) EXPECT_TRUE(accepts(list, text)) << text;
  for (const char* text : {"", "1,", "abcd", "x"}) EXPECT_FALSE(accepts(list, text)) << text;
  const std::string lines = "start: [\"if\"i \" \"] X\n  | /.+/\nX.-1 : /[\\/\\d.]/ # a comment\n";
  for (const char* text : {"If /", "7", "iF .", "anything at all", "\r"}) {
    EXPECT_TRUE(accepts(lines, text)) << text;
  }
  EXPECT_FALSE(accepts(lines, "a\nb"));
  EXPECT_TRUE(accepts("start: /.+/s", "a\nb"));
  EXPECT_TRUE(accepts("start: /x[/]y/i", "X/y"));
  EXPECT_TRUE(accepts("start: \"\\n\\t\\\"\\\\\\x41\" \"\u6f22\"", "\n\t\"\\A\u6f22"));
  EXPECT_TRUE(accepts("start: \"\u0430\"..\"\u044f\"", "\u0431"));
  EXPECT_TRUE(accepts("start: \"a\"\n\n// \"b\"\n\n  | \"c\" \"d\"\n", "cd"));
  EXPECT_TRUE(accepts("start: a |\na: \"x\"", "")) << "an empty alternative";
  EXPECT_TRUE(accepts("start: /^a/ /b$/", "ab"));
  EXPECT_TRUE(
      accepts("%import common (LF, INT)\n%import common.WS -> gap\nstart: INT gap LF", "12  \n"));
}

TEST(Lark, TakesPatchesOfAgents) {
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

constexpr const char* kSum =
    "?start: sum\n"
    "?sum: product | sum \"+\" product -> add | sum \"-\" product -> sub\n"
    "?product: atom | product (\"*\" | \"/\") atom\n"
    "?atom: NUMBER | \"-\" atom -> neg | NAME | \"(\" sum \")\"\n"
    "%import common.CNAME -> NAME\n%import common.NUMBER\n%import common.WS_INLINE\n"
    "%ignore WS_INLINE\n";

TEST(Lark, Recurs) {
  const auto nested = lark("start: \"(\" start \")\" | \"[\" [start] \"]\"");
  for (const char* text : {"[]", "([])", "[([[]])]"}) EXPECT_TRUE(nested->accepts(text)) << text;
  for (const char* text : {"", "()", "([)]", "[]]"}) EXPECT_FALSE(nested->accepts(text)) << text;
  const size_t deep = 50000;
  EXPECT_TRUE(nested->accepts(std::string(deep, '(') + "[]" + std::string(deep, ')')));
  EXPECT_FALSE(nested->accepts(std::string(deep, '(') + "[]" + std::string(deep - 1, ')')));
  const auto sum = lark(kSum);
  for (const char* text : {"1", " 1 + 2*-(x - 3.5e2) ", "a/b/c-1+2", "((1))"}) {
    EXPECT_TRUE(sum->accepts(text)) << text;
  }
  for (const char* text : {"", "1 +", "(1", "1 2", "*1", "1\n+2"}) {
    EXPECT_FALSE(sum->accepts(text)) << text;
  }
}

TEST(Lark, TakesDirectLeftRecursionAlone) {
  EXPECT_TRUE(accepts("start: start \"a\" | start \"b\" | \"c\" | \"d\"", "dabba"));
  EXPECT_FALSE(accepts("start: start \"a\" | start \"b\" | \"c\" | \"d\"", "dad"));
  EXPECT_TRUE(accepts("start: start \"a\" |", "aa"));
  expect_refused("start: a\na: b \"x\" | \"y\"\nb: a", "line 2: left recursion");
  expect_refused("start: \"y\"? start \"x\" | \"z\"", "line 1: left recursion");
  expect_refused("start: start \"x\"", "left recursion");
  expect_refused("start: start \"x\" | start \"y\"", "no token can follow");
}

// Ignored text may stand beside every terminal of a rule, and inside none.
TEST(Lark, IgnoresBetweenTerminals) {
  const std::string grammar =
      "start: \"a\" B c\nB: \"b\" \"b\"\nc: \"c\"~2\n%ignore \" \" | \"\\n\"\n%ignore /#[^\\n]*\\n/\n";
  for (const char* text : {"abbcc", "  a bb c\n\n c ", "#x\na#y\nbbcc#\n"}) {
    EXPECT_TRUE(accepts(grammar, text)) << text;
  }
  for (const char* text : {"ab bcc", "a#bbcc", "\tabbcc"}) {
    EXPECT_FALSE(accepts(grammar, text)) << text;
  }
}

// Rules that would be larger than the limits in place of their uses are called.
TEST(Lark, CallsLargeRules) {
  std::string twice = "start: a0 a0\n";
  for (int i = 0; i < 40; ++i) {
    const std::string next = "a" + std::to_string(i + 1);
    twice += "a" + std::to_string(i) + ": " + next + " " + next + "\n";
  }
  EXPECT_FALSE(accepts(twice + "a40: \"x\"", times(1000, "x")));
  std::string chain = "start: a0\n";
  for (int i = 0; i < 15000; ++i) {
    chain += "a" + std::to_string(i) + ": a" + std::to_string(i + 1) + " \"y\"\n";
  }
  EXPECT_TRUE(accepts(chain + "a15000: \"x\"", "x" + std::string(15000, 'y')));
  const std::string letters = "\nb: \"" + std::string(15000, 'x') + "\"";
  EXPECT_TRUE(
      accepts("start: b" + times(300, "|b \"y\"") + letters, std::string(15000, 'x') + "y"));
}

TEST(Lark, EndsWithLongTexts) {
  const std::string megabyte(size_t{1} << 20, 'x');
  expect_refused("start: \"" + megabyte + "\"", "more than 150000 parts");
  expect_refused("start: /" + megabyte + "/", "more than 150000 parts");
  EXPECT_TRUE(accepts("start: \"x\" // " + megabyte + "\n", "x"));
  EXPECT_TRUE(accepts("start: /x+/", megabyte));
  EXPECT_TRUE(accepts("start: \"x\"" + times(100000, "\n  \n"), "x"));
  EXPECT_FALSE(accepts(kSum, megabyte + "+"));
}

std::string json_string(std::string_view text) {
  std::string json = "\"";
  append_json_escaped(text, json);
  return json + "\"";
}
std::string schema_of(const std::string& grammar, const std::string& more = "") {
  return "{\"type\": \"object\", \"properties\": {\"t\": {\"type\": \"string\", \"x-lark\": " +
         json_string(grammar) + more + "}}, \"required\": [\"t\"]}";
}
bool takes(const std::string& schema, const std::string& text) {
  return Grammar::compile(GrammarKind::JsonSchema, schema)
      ->accepts("{\"t\": " + json_string(text) + "}");
}

TEST(Lark, ConstrainsStringsOfASchema) {
  const std::string words = schema_of("start: /[a-z]+\\n/ \"\\\"\"");
  EXPECT_TRUE(takes(words, "ab\n\""));
  EXPECT_FALSE(takes(words, "ab\n"));
  EXPECT_TRUE(takes(schema_of("start: /[a-z]+/", ", \"maxLength\": 2"), "ab"));
  EXPECT_FALSE(takes(schema_of("start: /[a-z]+/", ", \"maxLength\": 2"), "abc"));
  const std::string nested = schema_of("start: \"{\\n\\\"\" (start | /[^\\x00]/)~0..2 \"\\\\}\"");
  EXPECT_TRUE(takes(nested, "{\n\"\\}"));
  EXPECT_TRUE(takes(nested, "{\n\"{\n\"\u6f22\x01\\}\n\\}"));
  EXPECT_FALSE(takes(nested, "{\n\"{\n\"\\}"));
  EXPECT_FALSE(takes(nested, "{\n\"xyz\\}"));
}

TEST(Lark, RefusesWhatASchemaCannotCombine) {
  const auto refused = [](const std::string& schema, std::string_view part) {
    const std::string told = refusal(GrammarKind::JsonSchema, schema);
    EXPECT_NE(told.find(part), std::string::npos) << schema << "\n" << told;
  };
  const std::string nested = "start: \"(\" start \")\" | \"x\"";
  refused(schema_of(nested, ", \"maxLength\": 3"), "x-lark with rules that recur");
  refused(schema_of(nested, ", \"enum\": [\"x\"]"), "x-lark with rules that recur");
  refused(schema_of("start: pair{\"x\"}"), "#/properties/t/x-lark: line 1, column 12: templates");
  refused(R"({"x-lark": 5})", "x-lark is a string");
  refused(schema_of("start: other\nother: start \"x\""), "#/properties/t/x-lark: line ");
  refused("{\"type\": \"string\", \"not\": {\"x-lark\": " + json_string(nested) + "}}", "negation");
  refused("{\"propertyNames\": {\"x-lark\": " + json_string(nested) + "}}", "names of an x-lark");
  EXPECT_EQ(refusal(GrammarKind::JsonSchema,
                    schema_of(nested, ", \"allOf\": [{\"type\": \"string\"}, {}]")),
            "accepted");
}

}  // namespace
}  // namespace tenon
