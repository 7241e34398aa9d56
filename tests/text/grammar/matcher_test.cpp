// Generation token by token: masks agree with trying every token, and no way leads to a dead end.
#include "text/grammar/matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"

namespace tenon {
namespace {

using grammar::TokenMasks;
using grammar::TokenSet;

constexpr Token kEnd = 0;

/// All bytes, and pieces that cross the borders of strings, keys and numbers. Token 0 ends.
std::shared_ptr<const TokenSet> vocabulary() {
  std::vector<std::string> texts{""};
  for (int b = 0; b < 256; ++b) texts.push_back(std::string(1, static_cast<char>(b)));
  for (const char* text :
       {"{\"",        "\":", "\": ", "\",",  "\", \"", "\"}",    "}}",       "\"]",
        "],",         "12",  "1.5",  "true", "null,",  "na",     "name",     "name\"",
        "name\": \"", "age", "ag",   "the ", " a",     "\u3042", "\xE3\x81", "\\u00",
        "\\n",        ", ",  "[[",   "[]",   "aaaa",   "ab"}) {
    texts.emplace_back(text);
  }
  // Lengths at which masks change their ways.
  for (const size_t length : {9u, 12u, 13u, 24u, 25u, 32u, 33u, 40u}) {
    texts.emplace_back(length, 'b');
  }
  texts.push_back(std::string(30, 'b') + "\",");
  for (const char* word : {"abab", "abc ", "ab cd", "baba", "cdcd", " cd", "ab, ", "a.", "aab",
                           "abba", "bb", "bbc", "bcb", "bca", "cab", "cc ", "caa", "ccc", "cba"}) {
    texts.emplace_back(word);  // enough below one node to be taken at once
  }
  texts.emplace_back("\u3042\u3042\u3042\u3042\u3042\u3042\u3042\u3042\u3042\u3042\u3042");
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return std::make_shared<const TokenSet>(views, std::vector<Token>{kEnd});
}

GrammarMatcher matcher_of(GrammarKind kind, std::string_view text) {
  return GrammarMatcher(
      std::make_shared<const TokenMasks>(Grammar::compile(kind, text), vocabulary()));
}

std::vector<Token> allowed(GrammarMatcher& matcher, bool exact) {
  std::vector<Token> result;
  const auto mask = matcher.mask(exact);
  for (size_t t = 0; t < matcher.tokens().size(); ++t) {
    if ((mask[t / 64] >> (t % 64) & 1) != 0) result.push_back(static_cast<Token>(t));
  }
  return result;
}

struct Case {
  GrammarKind kind;
  const char* text;
};
const Case kCases[] = {
    {GrammarKind::Regex, "[a-f]{2,9}|x(yz)*"},
    {GrammarKind::Gbnf, "root ::= word (\" \" word)*\nword ::= [a-z]+ | \"(\" root \")\""},
    {GrammarKind::Choices, R"(["name","names","age"])"},
    {GrammarKind::JsonSchema, "{}"},
    {GrammarKind::JsonSchema, R"({"type":"string","minLength":3,"maxLength":7})"},
    {GrammarKind::JsonSchema,
     R"({"type":"array","items":{"type":"string","minLength":4},"maxItems":3})"},
    {GrammarKind::Gbnf,
     "root ::= \"\\\"\" [^\"\\\\\\x7F\\x00-\\x1F]* \"\\\"\" | . [a-z] .{2,5} [0-9]"},
    {GrammarKind::Regex, "(.|\\n){2,9}x?"},
    {GrammarKind::Regex, "[a-z]{2,70}(, [a-z ]{1,40}){0,9}\\."},
    {GrammarKind::Regex, "[a-z ]+(,[a-z ]*)*[.]?"},
    {GrammarKind::Gbnf,
     "root ::= s (\" \" s)*\ns ::= word ((\", \" | \" \") word)* [.!]\nword ::= [a-z]+"},
    {GrammarKind::JsonSchema, R"({"type":"string","pattern":"^[a-z ,.]*$","maxLength":90})"},
    {GrammarKind::JsonSchema, R"({"type":"array","items":{"type":"string"},"minItems":1})"},
    {GrammarKind::JsonSchema,
     R"({"type":"array","items":{"enum":["name","na",12,null]},"uniqueItems":true,"minItems":2})"},
    {GrammarKind::JsonSchema,
     R"({"type":"object","minProperties":2,"additionalProperties":{"type":"null"}})"},
    {GrammarKind::JsonSchema,
     R"({"type":"object","maxProperties":2,"additionalProperties":{"type":"null"}})"},
    {GrammarKind::JsonSchema,
     R"({"type":"object","properties":{"name":{"type":"string","maxLength":6},"nam":{"type":"null"},
      "age":{"type":"integer","minimum":5,"maximum":130}},"required":["name","age"],
      "additionalProperties":false})"},
    {GrammarKind::JsonSchema,
     R"({"type":"array","items":{"anyOf":[{"type":"string","minLength":2},{"$ref":"#"}]},
      "minItems":1,"maxItems":4})"},
    {GrammarKind::JsonSchema,
     R"({"type":"object","minProperties":2,"maxProperties":3,"patternProperties":{"^a":{"const":1}},
      "properties":{"name":{"enum":["a","b",7]}}})"},
};

TEST(Matcher, MasksAgreeWithTryingEachToken) {
  std::mt19937 random(7);
  for (const Case& test : kCases) {
    GrammarMatcher matcher = matcher_of(test.kind, test.text);
    for (int run = 0; run < 4; ++run) {
      matcher.restart();
      for (int step = 0; step < 25 && !matcher.is_ended(); ++step) {
        const std::vector<Token> by_mask = allowed(matcher, false);
        std::vector<Token> tried;
        for (size_t t = 0; t < matcher.tokens().size(); ++t) {
          if (matcher.allows(static_cast<Token>(t))) tried.push_back(static_cast<Token>(t));
        }
        ASSERT_EQ(by_mask, tried) << test.text << " step " << step;
        ASSERT_FALSE(by_mask.empty()) << test.text;
        matcher.accept(by_mask[random() % by_mask.size()]);
      }
    }
  }
}

TEST(Matcher, IsCompleteBeforeTheTokensRunOut) {
  std::mt19937 random(11);
  for (const Case& test : kCases) {
    const auto compiled = Grammar::compile(test.kind, test.text);
    GrammarMatcher matcher = matcher_of(test.kind, test.text);
    for (const uint64_t limit : {40u, 60u, 90u}) {
      matcher.restart();
      matcher.set_token_limit(limit);
      std::string text;
      for (uint64_t i = 0; i < limit; ++i) {
        const std::vector<Token> next = allowed(matcher, true);
        ASSERT_FALSE(next.empty()) << test.text << "\n" << text;
        const Token token = next[random() % next.size()];
        ASSERT_TRUE(matcher.allows(token)) << test.text << "\n" << text;
        matcher.accept(token);
        if (token == kEnd) break;
        text += matcher.tokens().text(token);
      }
      EXPECT_TRUE(compiled->accepts(text)) << test.text << "\n" << text;
    }
  }
}

// Programs read an integer from digits alone, and a double from an exponent of two digits.
TEST(Matcher, WritesNumbersThatProgramsRead) {
  const auto may_follow = [](const char* schema, std::string_view text, char next) {
    GrammarMatcher matcher = matcher_of(GrammarKind::JsonSchema, schema);
    for (const char c : text) matcher.accept(c + 1);
    const std::vector<Token> found = allowed(matcher, true);
    return std::find(found.begin(), found.end(), next + 1) != found.end();
  };
  for (const char* schema :
       {R"({"type":"integer"})", R"({"type":"integer","minimum":3,"multipleOf":2})"}) {
    EXPECT_TRUE(may_follow(schema, "4", '2'));
    for (const char next : {'.', 'e', 'E'}) EXPECT_FALSE(may_follow(schema, "4", next)) << next;
  }
  for (const char* schema : {R"({"type":"number"})", R"({"type":["number","null"]})"}) {
    EXPECT_TRUE(may_follow(schema, "1.5e1", '2'));
    EXPECT_TRUE(may_follow(schema, "1.5e-", '2'));
    EXPECT_FALSE(may_follow(schema, "1.5e12", '2'));
    EXPECT_FALSE(may_follow(schema, "1.5e-12", '0'));
  }
}

TEST(Matcher, TakesTokensBack) {
  GrammarMatcher matcher = matcher_of(GrammarKind::Regex, "abc?");
  matcher.accept('a' + 1);
  matcher.accept('b' + 1);
  EXPECT_TRUE(matcher.is_complete());
  const std::vector<Token> here = allowed(matcher, false);
  matcher.accept('c' + 1);
  EXPECT_TRUE(matcher.is_ended());
  matcher.roll_back(1);
  EXPECT_EQ(allowed(matcher, false), here);
  matcher.roll_back(2);
  EXPECT_FALSE(matcher.is_complete());
  EXPECT_THROW(matcher.roll_back(1), Error);
  EXPECT_THROW(matcher.accept('b' + 1), Error);
}

TEST(Matcher, KnowsForcedText) {
  GrammarMatcher matcher = matcher_of(GrammarKind::Choices, R"(["north-east","north-west"])");
  EXPECT_EQ(matcher.forced_text(), "north-");
}

TEST(Matcher, KnowsWhichTextsATokenGoesBeyond) {
  const std::shared_ptr<const TokenSet> tokens = vocabulary();
  const grammar::TokenTrie& all = tokens->all();
  EXPECT_TRUE(all.goes_beyond("{"));       // {"
  EXPECT_TRUE(all.goes_beyond("name\""));  // name": "
  EXPECT_TRUE(all.goes_beyond("null"));    // null,
  EXPECT_FALSE(all.goes_beyond("null,"));
  EXPECT_FALSE(all.goes_beyond("nul,"));
  EXPECT_FALSE(all.goes_beyond("z"));
}

TEST(Matcher, RefusesAVocabularyThatCannotSpellIt) {
  const std::vector<std::string_view> texts{"", "a", "b"};
  const auto tokens = std::make_shared<const TokenSet>(texts, std::vector<Token>{0});
  const auto bind = [&](std::string_view pattern) {
    return TokenMasks(Grammar::compile(GrammarKind::Regex, pattern), tokens);
  };
  EXPECT_NO_THROW((void)bind("a+|c"));
  try {
    (void)bind("c+");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("no token can follow"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace tenon
