// Hostile grammars, schemas and patterns: each is refused with the named error and its place, or
// compiled, within 250 ms of processor time and 64 MB.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "tests/base/processor_time.h"
#include "tests/text/grammar/refusal.h"

namespace tenon {
namespace {

/// Peak memory of the process since the last call of forget_peak(); 0 if unknown.
size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    size_t kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}
void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

constexpr double kMostSeconds = 0.5;

std::string repeated(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) result += text;
  return result;
}

/// Results of `make` for 0..count - 1, joined.
std::string listed(size_t count, const char* between,
                   const std::function<std::string(size_t)>& make) {
  std::string result;
  for (size_t i = 0; i < count; ++i) result += (i > 0 ? between : "") + make(i);
  return result;
}

/// part: of the refusal's message; empty if the text must compile.
void expect(GrammarKind kind, const std::string& text, std::string_view part) {
  const std::string shown = text.substr(0, 60);
  size_t bytes = 0;
  const double seconds = processor_seconds(
      [&] {
        forget_peak();
        const size_t before = peak_bytes();
        const std::string message = refusal(kind, text);
        // The system counts in batches: a peak may be below the earlier value.
        bytes = std::max(peak_bytes(), before) - before;
        if (part.empty()) {
          EXPECT_EQ(message, "accepted") << shown;
        } else {
          EXPECT_NE(message.find(part), std::string::npos) << shown << "\n" << message;
        }
      },
      kMostSeconds);
  if (kSanitized) return;  // sanitizers hold freed memory back
  EXPECT_LE(seconds, kMostSeconds) << shown;
  EXPECT_LE(bytes, size_t{64} << 20) << shown;
}

TEST(GrammarLimits, Gbnf) {
  const auto kind = GrammarKind::Gbnf;
  expect(kind, "root ::= " + repeated("(", 60'000), "line 1: groups are nested deeper");
  expect(kind, "root ::= root \"a\" | \"b\"", "line 1: left recursion");
  expect(kind, "root ::= \"x\"\nb ::= \"b\"? c\nc ::= b", "");  // unreachable rules
  expect(kind, "root ::= b\nb ::= \"b\"? c\nc ::= b | \"c\"", "left recursion");
  expect(kind, "root ::= ( [x]* )*", "");
  expect(kind, "root ::= (((\"a\"){1,1999}){1,1999}){1,1999}",
         "line 1: a repetition of 1999 times");
  expect(kind, "root ::= \"x\"\na ::= b", "line 2: unknown rule \"b\"");
  const auto rule = [](size_t i) { return "r" + std::to_string(i) + " ::= \"a\"\n"; };
  expect(kind, "root ::= \"a\"\n" + listed(400'000, "", rule), "line 20001: more than 20000 rules");
  expect(kind, "root ::= \"a\"\n" + listed(1'000'000, "", rule), "line 1: the text is larger");
  expect(kind, "root ::= \"" + repeated("a", 500'000) + "\"", "line 1: more than 150000 parts");
  expect(kind, "root ::= \"a\"\n\nb ::= " + repeated("\"b\"?", 200'000),
         "line 3: more than 150000 parts");
}

TEST(GrammarLimits, RepetitionsOfRepetitions) {
  const auto nested = [](size_t groups, std::string_view after) {
    return "root ::= " + repeated("(", groups) + "\"a\"" +
           repeated(")" + std::string(after), groups);
  };
  expect(GrammarKind::Gbnf, nested(190, repeated("?", 190)), "line 1: more than 200 repetitions");
  expect(GrammarKind::Gbnf, nested(190, "??"), "");
  expect(GrammarKind::Gbnf, nested(190, "?"), "");
}

/// Chain of rules: a property of the last rule reaches the others one at a time.
/// Parts that make no node cost time all the same.
TEST(GrammarLimits, RepetitionsOfNothing) {
  const std::string text = repeated("a", 140'000);
  expect(GrammarKind::JsonSchema,
         R"({"type": "string", "pattern": "(?:(?:)" + text + R"(){0}){60000}"})", "");
  expect(GrammarKind::Gbnf, "root ::= ((\"" + text + "\"){0}){60000}", "");
  expect(GrammarKind::Lark, "start: (\"" + text + "\"~0)~60000", "");
  const auto chain = [](size_t i) {
    return "c" + std::to_string(i) + ": c" + std::to_string(i + 1) + "\n";
  };
  expect(GrammarKind::Lark,
         "start: a~100000\na: " + listed(50, "|", [](size_t) { return std::string("c0"); }) + "\n" +
             listed(189, "", chain) + "c189:\n",
         "too much work");
}

TEST(GrammarLimits, EdgesWithoutText) {
  const auto word = [](size_t i) {
    return std::string("\"") + static_cast<char>('A' + i / 26 % 26) +
           static_cast<char>('a' + i % 26) + "z\"";
  };
  expect(GrammarKind::Lark,
         "start: (" + repeated("e|", 300) + listed(676, "|", word) +
             ")*\ne: " + repeated("|", 9'900) + "\n",
         "");
  expect(GrammarKind::Gbnf, "root ::= (" + repeated("|", 90'000) + listed(676, "|", word) + ")*",
         "");
}

TEST(GrammarLimits, ChainsOfRules) {
  const auto kind = GrammarKind::Gbnf;
  const auto name = [](size_t i) { return "r" + std::to_string(i); };
  const std::string wide = "w ::= (" + repeated("\"a\" | ", 20'000) + "\"b\") \"x\"\n";
  for (const size_t count : {1000, 2400, 4000, 10'000}) {
    const auto is_next = [&](size_t i) { return name(i) + " ::= " + name(i + 1) + "\n"; };
    const std::string chain = listed(count, "", is_next) + name(count) + " ::= \"\"\n";
    expect(kind, "root ::= \"a\"\n" + wide + chain, "");
    expect(kind, "root ::= \"a\" r0\n" + chain, "");
    // The root calls all rules, the last one first: its shortest text is measured again at each
    // step.
    const std::string all = listed(count, " | ", [&](size_t i) { return name(count - i); });
    expect(kind, "root ::= \"a\" | " + all + "\n" + chain, count < 4000 ? "" : "too much work");
    expect(kind, "root ::= \"a\" r0*\n" + chain, "");
    expect(kind, "root ::= \"a\" r0\n" + listed(count, "", is_next) + name(count) + " ::= r0",
           "left recursion");
  }
}

TEST(GrammarLimits, ClassesOfCharacters) {
  const auto kind = GrammarKind::Regex;
  expect(kind, "[" + repeated("\\S", 400'000) + "]", "too much work");
  expect(kind, "[" + repeated("\\d-", 300'000) + "]", "");
  expect(kind, "[" + repeated("ac", 500'000) + "]", "too much work");
  expect(kind, "[" + repeated("ac", 100'000) + "]", "");
  expect(GrammarKind::Gbnf, "root ::= [" + repeated("ac", 4'000'000) + "]",
         "line 1: too much work");
}

TEST(GrammarLimits, Patterns) {
  const auto kind = GrammarKind::Regex;
  expect(kind, "(a+)+b", "");
  expect(kind, "((a{1,1999}){1,1999}){1,1999}", "a repetition of 1999 times");
  expect(kind, "(a|b)*a(a|b){30}", "states");
  expect(kind, "(a?b?c?d?){400}", "too much work");
  expect(kind, ".{0,99999}", "nodes when written out");
  expect(kind, repeated("(", 60'000), "byte 201: groups are nested deeper");
  expect(kind, repeated("a", 500'000), "more than 150000 parts");
  expect(kind, repeated("()", 250'000), "more than 150000 parts");
  expect(kind, repeated("a", size_t{50} << 20), "longer than 1 MiB");
  expect(kind, listed(100'000, "|", [](size_t i) { return std::to_string(i); }), "150000 parts");
  expect(kind, "(?i)" + repeated("[\\u0100-\\uffff]", 50'000), "too much work");
  expect(kind, "(?i)" + repeated("\\W", 50'000), "too much work");
  expect(kind, "^?[0-9]$", "byte 2: a repetition after ^ or $ has nothing to repeat");
  expect(kind, "a{4,2}", "byte");
  expect(kind, "a{1,99999999999999999999}", "byte");
}

TEST(GrammarLimits, SchemaReferences) {
  const auto kind = GrammarKind::JsonSchema;
  expect(kind, R"({"$ref":"#"})", "#: the schema refers to itself");
  expect(kind, R"({"items":{"$defs":{"a":{"$ref":"#/items/$defs/b"},"b":{"$ref":"#/items/$defs/a"}},
    "$ref":"#/items/$defs/a"}})",
         "#/items/$defs/a: the schema refers to itself");
  expect(kind, R"({"items":{"$ref":"http://example.com/x"}})", "#/items: reference");
  expect(kind, R"({"properties":{"a":{"$ref":"#/$defs/none"}}})", "#/properties/a: reference");
  const auto other = [](size_t i) {
    return "{\"$ref\":\"#/$defs/d" + std::to_string(i % 3000) + "\"}";
  };
  expect(kind,
         R"({"$ref":"#/$defs/d0","$defs":{)" +
             listed(3000, ",",
                    [&](size_t i) {
                      return "\"d" + std::to_string(i) + R"(":{"properties":{"a":)" + other(i + 1) +
                             R"(,"b":)" + other(i * 7) + "}}";
                    }) +
             "}}",
         "too much work");
}

TEST(GrammarLimits, SchemaSizes) {
  const auto kind = GrammarKind::JsonSchema;
  expect(kind, repeated("{\"items\":", 100'000), "#/items/items");
  expect(kind, repeated("{\"items\":", 100'000), "nested deeper than 128");
  const auto number = [](size_t i) { return std::to_string(i); };
  expect(kind, "{\"items\":{\"enum\":[" + listed(1'000'000, ",", number) + "]}}",
         "#/items/enum/199997: more than 200000 values");
  expect(kind, "{\"items\":{\"enum\":[" + listed(30'000, ",", number) + "]}}", "#/items/enum");
  expect(kind,
         "{\"enum\":[" +
             listed(20'000, ",", [](size_t i) { return "\"v" + std::to_string(i) + "\""; }) + "]}",
         "");
  expect(kind, R"({"items":{"minLength":1000000000000000000}})", "#/items/minLength: minLength is");
  expect(kind, R"({"properties":{"a":{"type":"array","minItems":1e18}}})",
         "#/properties/a/minItems");
  expect(kind, R"({"type":"integer","minimum":3,"maximum":2})", "#: the schema is contradictory");
  expect(kind, R"({"required":["a"],"type":"object","properties":{"a":false}})", "contradictory");
  expect(kind, R"({"items":{"pattern":"(a"}})", "#/items/pattern: pattern, byte 2");
  expect(kind, R"({"items":{"pattern":")" + repeated("a", 500'000) + "\"}}",
         "#/items/pattern: more than");
  expect(kind, R"({"const":")" + repeated("x", 10'000'000) + "\"}", "nodes");
  expect(kind,
         R"({"properties":{)" +
             listed(90'000, ",",
                    [](size_t i) { return "\"p" + std::to_string(i) + "\":{\"type\":\"null\"}"; }) +
             "}}",
         "#/properties/p19999: more than 20000 subschemas");
  expect(kind, R"({"items":{"type":"zzz"}})", "#/items/type");
  expect(kind,
         R"({"properties":{"a/~)" + repeated("x", 200) + R"(":{"allOf":[{},{"type":"zzz"}]}}})",
         "grammar: #/properties/a~1~0" + repeated("x", 97) + "/allOf/1/type: \"zzz\" is no type");
  expect(kind, R"({"patternProperties":{"(?<=a)b":{}}})", "#/patternProperties/(?<=a)b: pattern");
}

TEST(GrammarLimits, Choices) {
  const auto kind = GrammarKind::Choices;
  const auto choice = [](size_t i) { return "\"c" + std::to_string(i) + "\""; };
  expect(kind, "[" + listed(1'000'000, ",", choice) + "]", "more than 200000 values");
  expect(kind, "[" + listed(60'000, ",", choice) + "]", "more than 50000 choices");
  expect(kind, "[" + listed(50'000, ",", choice) + "]", "");
  expect(kind, "[\"" + repeated("x", 10'000'000) + "\"]", "nodes");
}

}  // namespace
}  // namespace tenon
