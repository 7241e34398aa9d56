// Generation token by token: masks agree with trying every token, and no path is a dead end.
#include "text/grammar/matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "base/error.h"

namespace tenon {
namespace {

using grammar::TokenMasks;
using grammar::TokenSet;

constexpr Token kEnd = 0;

/// All bytes, and pieces across the borders of strings, keys and numbers. Token 0 ends.
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
  // Lengths at which the computation of masks changes.
  for (const size_t length : {9u, 12u, 13u, 24u, 25u, 32u, 33u, 40u}) {
    texts.emplace_back(length, 'b');
  }
  texts.push_back(std::string(30, 'b') + "\",");
  for (const char* word : {"abab", "abc ", "ab cd", "baba", "cdcd", " cd", "ab, ", "a.", "aab",
                           "abba", "bb", "bbc", "bcb", "bca", "cab", "cc ", "caa", "ccc", "cba"}) {
    texts.emplace_back(word);  // enough tokens below one node to take them at once
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
    {GrammarKind::Gbnf, "root ::= ws* \"na\" (ws+ \"b\"? | \"a\"?)* \"x\"\nws ::= [ \\n]*"},
    {GrammarKind::JsonSchema,
     R"({"type":"string","pattern":"^[^ .@]+@[^ .@]+\\.[a-c]+$","maxLength":30,"minLength":7})"},
    {GrammarKind::JsonSchema,
     R"({"type":"array","items":{"type":"string","pattern":"^(a|\u3042|\"b)+c$","maxLength":40},
         "minItems":2})"},
    {GrammarKind::JsonSchema,
     R"({"properties":{"name":{"enum":[1.50,2e1,12,"ab"]},"age":{"type":"number","minimum":1.5},
         "ag":{"const":[0.10]},"na":{}},"required":["age","na"],"minProperties":3,
         "dependentRequired":{"na":["name"]},"additionalProperties":false})"},
    {GrammarKind::JsonSchema,
     R"({"items":{"enum":[1.50,1,10,"na"]},"uniqueItems":true,"minItems":2,"maxItems":3})"},
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

/// Text of random tokens, preferring `liked` tokens if allowed.
std::string generated(const char* schema, uint32_t seed, std::string_view liked = "") {
  GrammarMatcher matcher = matcher_of(GrammarKind::JsonSchema, schema);
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < 2000 && !matcher.is_ended(); ++i) {
    const std::vector<Token> next = allowed(matcher, true);
    Token token = next[random() % next.size()];
    for (const Token other : next) {
      const std::string_view of = matcher.tokens().text(other);
      if (!of.empty() && of.find_first_not_of(liked) == of.npos) token = other;
    }
    matcher.accept(token);
    if (token == kEnd) break;
    text += matcher.tokens().text(token);
  }
  return text;
}

TEST(Matcher, WritesPropertiesInTheOrderOfTheSchema) {
  const char* const kOrdered = R"({"type":"object","properties":{"name":{"const":1},
      "age":{"const":2},"ag":{"const":3}},"additionalProperties":false,"required":["age"]})";
  const auto grammar = Grammar::compile(GrammarKind::JsonSchema, kOrdered);
  EXPECT_TRUE(grammar->accepts(R"({"ag":3,"age":2,"name":1})"));  // valid, although never generated
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const std::string text = generated(kOrdered, seed);
    EXPECT_TRUE(grammar->accepts(text)) << text;
    const size_t name = text.find("\"name\""), age = text.find("\"age\""), ag = text.find("\"ag\"");
    ASSERT_NE(age, text.npos) << text;
    EXPECT_TRUE(name == text.npos || name < age) << text;
    EXPECT_TRUE(ag == text.npos || age < ag) << text;
  }
  // The option property_order allows any order.
  const char* const kAny = R"({"x-tenon":{"property_order":"any"},"properties":{"name":{"const":1},
      "age":{"const":2}},"required":["name","age"],"additionalProperties":false,"type":"object"})";
  std::set<bool> seen;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const std::string text = generated(kAny, seed);
    seen.insert(text.find("name") < text.find("age"));
  }
  EXPECT_EQ(seen.size(), 2u);
}

TEST(Matcher, SpellsKnownNumbersAsTheSchemaDoes) {
  const char* const kSchema = R"({"enum":[1.50,2e3,-0.0,100,12345678901234567890123]})";
  const auto grammar = Grammar::compile(GrammarKind::JsonSchema, kSchema);
  const std::set<std::string> spelled{"1.50", "2e3", "-0.0", "100", "12345678901234567890123"};
  std::set<std::string> seen;
  for (uint32_t seed = 0; seed < 60; ++seed) seen.insert(generated(kSchema, seed));
  EXPECT_EQ(seen, spelled);
  for (const char* text : {"1.5", "15e-1", "2000", "0", "-0", "1e2", "100.0"}) {
    EXPECT_TRUE(grammar->accepts(text)) << text;
  }
  for (const char* text : {"1.51", "200", "12345678901234567890124"}) {
    EXPECT_FALSE(grammar->accepts(text)) << text;
  }
}

// Meaningless runs are bounded: white space, digits, zeros.
TEST(Matcher, BoundsRunsThatSayNothing) {
  for (const char* schema :
       {R"({"type":"array","items":{"type":"integer","minimum":1},"minItems":2,"maxItems":4})",
        R"({"type":"object","properties":{"a":{"type":"number"}},"required":["a"],
            "additionalProperties":false})",
        R"({"type":"array","items":{"type":"integer","multipleOf":7},"maxItems":2})",
        R"({"type":"array","items":{"type":"number","minimum":1e50},"maxItems":1,"minItems":1})"}) {
    const auto grammar = Grammar::compile(GrammarKind::JsonSchema, schema);
    for (const char* liked : {" \n", "0", "1", "0123456789", "9."}) {
      const std::string text = generated(schema, 1, liked);
      EXPECT_TRUE(grammar->accepts(text)) << text;
      EXPECT_LT(text.size(), 450u) << schema << "\n" << text;
    }
  }
  const auto any = Grammar::compile(GrammarKind::JsonSchema, R"({"type":"number"})");
  EXPECT_TRUE(any->accepts(std::string(1000, '1')));  // valid, although never generated
}

// A pattern with a maximal length counts while reading.
TEST(Matcher, CountsTheCharactersOfAPattern) {
  struct Counted {
    const char* pattern;
    size_t most;
    const char* begin;
    const char* repeated;
    const char* end;
  };
  const Counted kTexts[] = {{"^https?://", 2048, "https://", "a", ""},
                            {R"(^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$)", 512, "a@", "b", ".c"},
                            {"^[^/]+/[^/]+$", 1000, "x/", "\u3042", ""},
                            {R"(^\\S.*\\S$)", 1000, "a", " ", "b"},
                            {R"(^.+\\.(png|jpg)$)", 512, "", "n", ".png"},
                            {"^[a-z0-9-]+$", 8192, "", "z", ""}};
  for (const Counted& test : kTexts) {
    const std::string schema = std::string(R"({"type":"string","pattern":")") + test.pattern +
                               R"(","maxLength":)" + std::to_string(test.most) + "}";
    const auto grammar = Grammar::compile(GrammarKind::JsonSchema, schema);
    EXPECT_LT(grammar->automaton()->num_states(), 1000u) << test.pattern;
    const size_t rest = test.most - std::strlen(test.begin) - std::strlen(test.end);
    const auto text = [&](size_t times) {
      std::string out = std::string("\"") + test.begin;
      for (size_t i = 0; i < times; ++i) out += test.repeated;
      return out + test.end + "\"";
    };
    EXPECT_TRUE(grammar->accepts(text(rest))) << test.pattern;
    EXPECT_FALSE(grammar->accepts(text(rest + 1))) << test.pattern;
    EXPECT_TRUE(grammar->accepts(text(3))) << test.pattern;
  }
}

// Programs parse an integer from digits alone, and a double from an exponent of two digits.
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

// All bytes of a name share the states of other names.
TEST(Matcher, OtherNamesOfAnObjectCostFewStates) {
  const std::string name(40, 'n');
  const auto states = [&](const char* others) {
    const std::string schema = R"({"type":"object","properties":{")" + name +
                               R"(":{"type":"null"}},"additionalProperties":)" + others;
    const auto grammar = Grammar::compile(GrammarKind::JsonSchema, schema + "}");
    for (const char* rest : {"\\u0001", "\\n", "\\\\x", "\u3042", "n"}) {
      for (size_t kept = 0; kept <= name.size(); ++kept) {
        const std::string text = "{\"" + name.substr(0, kept) + rest + "\": true}";
        const bool is_name = kept + 1 == name.size() && std::strcmp(rest, "n") == 0;
        EXPECT_EQ(grammar->accepts(text), std::strcmp(others, "true") == 0 && !is_name) << text;
      }
    }
    return grammar->automaton()->num_states();
  };
  EXPECT_LT(states("true"), states("false") + name.size() + 100);
}

}  // namespace
}  // namespace tenon
