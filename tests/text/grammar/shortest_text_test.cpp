// Length of a grammar's shortest text, to the byte, for token limits. A byte too many skips the
// longest steps too early; a byte too few cuts the text. Counted items include a comma each: one
// byte more.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/matcher.h"

namespace tenon {
namespace {

using grammar::TokenMasks;
using grammar::TokenSet;

std::shared_ptr<const TokenSet> bytes() {
  std::vector<std::string> texts{""};
  for (int b = 0; b < 256; ++b) texts.push_back(std::string(1, static_cast<char>(b)));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return std::make_shared<const TokenSet>(views, std::vector<Token>{0});
}

struct Known {
  const char* source;
  std::string_view shortest;
  uint64_t more = 0;  ///< bytes counted in excess
};

void expect_known(GrammarKind kind, const Known& known) {
  SCOPED_TRACE(known.source);
  const auto compiled = Grammar::compile(kind, known.source);
  ASSERT_TRUE(compiled->accepts(known.shortest)) << known.shortest;
  GrammarMatcher matcher(std::make_shared<const TokenMasks>(compiled, bytes()));
  EXPECT_EQ(matcher.shortest_bytes(), known.shortest.size() + known.more) << known.shortest;
}

/// Checks every position in the text: the estimate is never less than the shortest rest.
void expect_known_throughout(GrammarKind kind, const Known& known) {
  expect_known(kind, known);
  const auto compiled = Grammar::compile(kind, known.source);
  GrammarMatcher matcher(std::make_shared<const TokenMasks>(compiled, bytes()));
  for (size_t i = 0; i < known.shortest.size(); ++i) {
    EXPECT_EQ(matcher.shortest_bytes(), known.shortest.size() - i)
        << known.source << " after " << known.shortest.substr(0, i);
    ASSERT_TRUE(matcher.accept_text(known.shortest.substr(i, 1)));
  }
  EXPECT_EQ(matcher.shortest_bytes(), 0u);
  EXPECT_TRUE(matcher.is_complete());
}

TEST(ShortestText, OfAPattern) {
  for (const Known& known : {
           Known{"abc", "abc"},
           Known{"a{3,9}b", "aaab"},
           Known{"(ab|c){2}(x|yz)", "ccx"},
           Known{"[a-z]{5}", "aaaaa"},
           Known{"(a|bb){0,4}", ""},
       }) {
    expect_known_throughout(GrammarKind::Regex, known);
  }
}

TEST(ShortestText, OfRulesThatCallOthers) {
  for (const Known& known : {
           Known{"root ::= item \",\" item\nitem ::= \"abc\" | \"zz\"", "zz,zz"},
           Known{"root ::= \"(\" root \")\" | \"xyz\"", "xyz"},
           Known{"root ::= a a\na ::= b b\nb ::= \"1\" | \"2\" b", "1111"},
       }) {
    expect_known_throughout(GrammarKind::Gbnf, known);
  }
}

TEST(ShortestText, OfAnObjectWithItsRequiredProperties) {
  const Known objects[] = {
      {R"({"type":"object"})", "{}"},
      {R"({"type":"object","properties":{"n":{"const":12}},"required":["n"],
           "additionalProperties":false})",
       R"({"n":12})"},
      {R"({"type":"object","properties":{"n":{"const":12},"m":{"const":345}},"required":["n","m"],
           "additionalProperties":false})",
       R"({"n":12,"m":345})"},
      {R"({"type":"object","properties":{"n":{"const":12},"m":{"const":345},"o":{"const":6}},
           "required":["n","m","o"],"additionalProperties":false})",
       R"({"n":12,"m":345,"o":6})"},
  };
  for (const Known& known : objects) expect_known(GrammarKind::JsonSchema, known);
}

/// Within another rule, the length is the rule's and not its automaton's.
TEST(ShortestText, OfAnObjectWithinAnotherText) {
  const Known objects[] = {
      {R"({"type":"array","items":{"type":"object"},"minItems":1,"maxItems":1})", "[{}]", 1},
      {R"({"type":"array","minItems":1,"maxItems":1,"items":{"type":"object",
           "properties":{"n":{"const":12}},"required":["n"],"additionalProperties":false}})",
       R"([{"n":12}])", 1},
      {R"({"type":"object","properties":{"a":{"type":"object","properties":{"n":{"const":12},
           "m":{"const":345}},"required":["n","m"],"additionalProperties":false}},
           "required":["a"],"additionalProperties":false})",
       R"({"a":{"n":12,"m":345}})"},
      {R"({"type":"object","properties":{"a":{"type":"object","properties":{"n":{"const":12},
           "m":{"const":345}},"minProperties":1,"additionalProperties":false}},
           "required":["a"],"additionalProperties":false})",
       R"({"a":{"n":12}})"},
      {R"({"type":"object","properties":{"a":{"type":"object","properties":{"n":{"const":12},
           "m":{"const":345}},"required":["n"],"minProperties":2,"additionalProperties":false}},
           "required":["a"],"additionalProperties":false})",
       R"({"a":{"n":12,"m":345}})"},
      {R"({"type":"object","properties":{"a":{"type":"object","additionalProperties":false},
           "b":{"type":"object","properties":{"c":{"type":"object","properties":{"d":{"const":1}},
           "required":["d"],"additionalProperties":false}},"required":["c"],
           "additionalProperties":false}},"required":["a","b"],"additionalProperties":false})",
       R"({"a":{},"b":{"c":{"d":1}}})"},
  };
  for (const Known& known : objects) expect_known(GrammarKind::JsonSchema, known);
}

/// The additional property may be a costly named property or another, whose name counts 64 bytes.
TEST(ShortestText, OfAnObjectWithOneMorePropertyTakesTheCheaper) {
  const std::string dear = R"({"const":")" + std::string(300, 'x') + "\"}";
  const auto least = [](const std::string& schema) {
    const auto compiled = Grammar::compile(GrammarKind::JsonSchema, schema);
    return GrammarMatcher(std::make_shared<const TokenMasks>(compiled, bytes())).shortest_bytes();
  };
  const std::string named = R"({"type":"object","minProperties":1,"properties":{"a":)" + dear + "}";
  EXPECT_LT(least(named + R"(,"additionalProperties":{"const":1}})"), 100u);
  EXPECT_GT(least(named + R"(,"additionalProperties":false})"), 300u);
  EXPECT_GT(least(named + R"(,"additionalProperties":)" + dear + "}"), 300u);
  const std::string cheap = R"({"type":"object","minProperties":1,"properties":{"a":{"const":1}})";
  EXPECT_EQ(least(cheap + R"(,"additionalProperties":)" + dear + "}"),
            std::string_view(R"({"a":1})").size());
}

TEST(ShortestText, OfArraysAndStringsWithLeastLengths) {
  const Known values[] = {
      {R"({"type":"array","items":{"const":12},"minItems":3})", "[12,12,12]", 1},
      {R"({"type":"string","minLength":4})", R"("aaaa")"},
      {R"({"type":"array","items":{"type":"string","minLength":2},"minItems":2})", R"(["aa","aa"])",
       1},
  };
  for (const Known& known : values) expect_known(GrammarKind::JsonSchema, known);
}

}  // namespace
}  // namespace tenon
