// A text of random tokens is complete before the tokens run out: random grammars of every notation,
// with token limits from the smallest sufficient one upward.
#include <gtest/gtest.h>

#include <random>

#include "text/grammar/matcher.h"

namespace tenon {
namespace {

using grammar::TokenMasks;
using grammar::TokenSet;

constexpr Token kEndOfLimited = 0;

/// Bytes and pieces of JSON, and runs of letters around the lengths at which masks are split; token
/// 0 ends.
std::shared_ptr<const TokenSet> limited_vocabulary(bool with_runs = false) {
  std::vector<std::string> texts{""};
  for (int b = 0; b < 256; ++b) texts.push_back(std::string(1, static_cast<char>(b)));
  for (const char* text :
       {"{\"",  "\":", "\",\"", "\"}",     "\"]", "],",  "[[", "}}",  "12",    ".5",    "true",
        "null", "na",  "name",  "name\":", "ab",  "abc", "  ", "\\n", "\\u00", "\u3042"}) {
    texts.emplace_back(text);
  }
  for (const size_t bytes : {11, 12, 13, 31, 32, 33, 40}) {
    if (!with_runs) break;
    texts.push_back(std::string(bytes, 'a'));
    texts.push_back(std::string(bytes - 1, 'b') + "\"");
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return std::make_shared<const TokenSet>(views, std::vector<Token>{kEndOfLimited});
}

class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  uint32_t below(uint32_t n) { return random_() % n; }
  bool coin() { return below(2) == 0; }

  std::string pattern(int depth) {
    switch (below(depth <= 0 ? 3 : 6)) {
      case 0:
        return "[a-c]";
      case 1:
        return coin() ? "name" : "\\d";
      case 2:
        return "x";
      case 3:
        return "(" + pattern(depth - 1) + "|" + pattern(depth - 1) + ")";
      case 4: {
        const uint32_t least = below(4);
        return "(" + pattern(depth - 1) + "){" + std::to_string(least) + "," +
               std::to_string(least + below(9)) + "}";
      }
      default:
        return pattern(depth - 1) + pattern(depth - 1);
    }
  }

  std::string gbnf() {
    std::string text = "root ::= " + body(2) + "\n";
    for (const char* rule : {"r0", "r1", "r2"}) {
      // The last alternative ends every recursion; the other begins with a letter.
      text += std::string(rule) + " ::= \"" + std::string(1, static_cast<char>('a' + below(3))) +
              "\" " + body(2) + " | \"z\"\n";
    }
    return text;
  }

  std::string schema(int depth) {
    const auto number = [&](uint32_t n) { return std::to_string(below(n)); };
    switch (below(depth <= 0 ? 5 : 8)) {
      case 0: {
        const uint32_t least = below(6);
        return R"({"type":"string","minLength":)" + std::to_string(least) + R"(,"maxLength":)" +
               std::to_string(least + below(20)) + "}";
      }
      case 1:
        return R"({"type":"integer","minimum":)" + number(300) + "}";
      case 2:
        return R"({"enum":["name",null,)" + number(99) + R"(,{"a":[)" + number(9) + "]}]}";
      case 3:
        return R"({"type":"string","pattern":"^)" + std::string(coin() ? "[a-c]{2,5}" : "(ab)*x+") +
               "$\"}";
      case 4:
        return coin() ? R"({"type":["boolean","null"]})" : R"({"type":"number"})";
      case 5:
        return R"({"type":"array","items":)" + schema(depth - 1) + R"(,"minItems":)" + number(3) +
               R"(,"maxItems":)" + std::to_string(2 + below(4)) + "}";
      case 6:
        return R"({"anyOf":[)" + schema(depth - 1) + "," + schema(depth - 1) + "]}";
      default: {
        std::string properties, required;
        for (const char* name : {"name", "na", "b"}) {
          if (!properties.empty()) properties += ",";
          properties += "\"" + std::string(name) + "\":" + schema(depth - 1);
          if (coin()) required += (required.empty() ? "\"" : ",\"") + std::string(name) + "\"";
        }
        return R"({"type":"object","properties":{)" + properties + R"(},"required":[)" + required +
               "]" + (coin() ? R"(,"additionalProperties":false})" : "}");
      }
    }
  }

 private:
  std::string body(int depth) {
    switch (below(depth <= 0 ? 3 : 6)) {
      case 0:
        return "[a-f0-9]";
      case 1:
        return "\"name\"";
      case 2:
        return "r" + std::to_string(below(3));
      case 3:
        return "(" + body(depth - 1) + " | " + body(depth - 1) + ")";
      case 4:
        return "(" + body(depth - 1) + "){" + std::to_string(below(3)) + "," +
               std::to_string(3 + below(4)) + "}";
      default:
        return body(depth - 1) + " " + body(depth - 1);
    }
  }
  std::mt19937 random_;
};

/// Draws up to `limit` random tokens that the matcher allows.
std::string generate(GrammarMatcher& matcher, uint64_t limit, Random& random) {
  matcher.restart();
  matcher.set_token_limit(limit);
  std::string text;
  for (uint64_t i = 0; i < limit && !matcher.is_ended(); ++i) {
    // Like a sampler, try a token first, and make a mask only if it is refused.
    auto token = static_cast<Token>(random.below(static_cast<uint32_t>(matcher.tokens().size())));
    if (token == kEndOfLimited || !matcher.allows(token)) {
      std::vector<Token> allowed;
      const auto mask = matcher.mask(true);
      for (size_t t = 0; t < matcher.tokens().size(); ++t) {
        const bool is_set = (mask[t / 64] >> (t % 64) & 1) != 0;
        if (is_set) allowed.push_back(static_cast<Token>(t));
        // The mask is assembled from parts, while allows() checks a single token.
        EXPECT_EQ(is_set, matcher.allows(static_cast<Token>(t))) << t << " after " << text;
      }
      if (allowed.empty()) break;
      token = allowed[random.below(static_cast<uint32_t>(allowed.size()))];
    }
    matcher.accept(token);
    if (token == kEndOfLimited) break;
    text += matcher.tokens().text(token);
  }
  return text;
}

void expect_complete(GrammarKind kind, const std::string& source, Random& random,
                     bool with_runs = false) {
  const auto compiled = Grammar::compile(kind, source);
  static const auto kTokens = limited_vocabulary(), kRuns = limited_vocabulary(true);
  const auto masks = std::make_shared<const TokenMasks>(compiled, with_runs ? kRuns : kTokens);
  GrammarMatcher matcher(masks);
  const uint64_t least = matcher.shortest_bytes();
  for (const uint64_t limit : {least, least + 1, least + 2, least + 5, least + 30}) {
    const std::string text = generate(matcher, limit, random);
    ASSERT_TRUE(compiled->accepts(text)) << source << "\n" << limit << " tokens: " << text;
  }
}

TEST(TokenLimit, LeavesRoomToCompleteSchemas) {
  Random random(1);
  for (int i = 0; i < 60; ++i) expect_complete(GrammarKind::JsonSchema, random.schema(3), random);
}

TEST(TokenLimit, LeavesRoomToCompletePatterns) {
  Random random(2);
  for (int i = 0; i < 60; ++i) expect_complete(GrammarKind::Regex, random.pattern(4), random);
}

TEST(TokenLimit, LeavesRoomToCompleteRules) {
  Random random(3);
  for (int i = 0; i < 60; ++i) expect_complete(GrammarKind::Gbnf, random.gbnf(), random);
}

TEST(TokenLimit, KnowsLongTokensInCountedTexts) {
  Random random(9);
  for (const char* pattern :
       {"[a-c]{10,60}", "([a-c]{2,12} ){1,9}x", "(a{3,40}|[ab]{33})(name)?", "a{50,}b*\"?"}) {
    for (int i = 0; i < 5; ++i) expect_complete(GrammarKind::Regex, pattern, random, true);
  }
  for (const char* schema :
       {R"({"type":"string","pattern":"^[a-b ]*$","minLength":20,"maxLength":70})",
        R"({"type":"string","pattern":"^[^ab]*b+a{2}(\u3042|aa)?\"*$","maxLength":45})",
        R"({"type":"array","items":{"type":"string","pattern":"^a+[^a]*b$","maxLength":60},
            "minItems":2})",
        R"({"type":"array","items":{"type":"string","minLength":12},"minItems":2})",
        R"({"type":"object","additionalProperties":{"type":"string","pattern":"^a+b{3,35}$"},
            "maxProperties":3,"minProperties":1})"}) {
    for (int i = 0; i < 5; ++i) expect_complete(GrammarKind::JsonSchema, schema, random, true);
  }
}

TEST(TokenLimit, LeavesRoomToCompleteChoices) {
  Random random(4);
  for (int i = 0; i < 20; ++i) {
    std::string list;
    for (uint32_t n = 1 + random.below(5); n > 0; --n) {
      list += (list.empty() ? "[\"" : ",\"") + std::string(random.below(30), 'a') +
              (random.coin() ? "name" : "b") + "\"";
    }
    expect_complete(GrammarKind::Choices, list + "]", random);
  }
}

TEST(TokenLimit, CountsPropertiesThatAreNotRequired) {
  Random random(6);
  const std::string text(100, 'x');
  const std::string dear = R"({"const":")" + text + "\"}";
  const std::string open = R"({"type":"object","minProperties":2,"properties":{"a":)" + dear +
                           R"(,"b":)" + dear + R"(,"c":{"$ref":"#"}})";
  for (int i = 0; i < 20; ++i) {
    expect_complete(GrammarKind::JsonSchema, open + R"(,"additionalProperties":false})", random);
    expect_complete(GrammarKind::JsonSchema, open + R"(,"additionalProperties":)" + dear + "}",
                    random);
  }
}

TEST(TokenLimit, TellsNamesApart) {
  Random random(8);
  expect_complete(GrammarKind::JsonSchema,
                  R"({"type":"object","minProperties":3,"maxProperties":4,
                      "additionalProperties":{"type":"null"}})",
                  random);
}

TEST(TokenLimit, KnowsWhatArraysMustHold) {
  Random random(7);
  const std::string arrays[] = {
      R"({"items":{"enum":["name",12,1,null,"na"]},"uniqueItems":true,"minItems":3})",
      R"({"minItems":2,"maxItems":4,"contains":{"const":"name"},"minContains":2})"};
  for (const std::string& array : arrays) {
    const std::string typed = R"({"type":"array",)" + array.substr(1);
    for (int i = 0; i < 10; ++i) {
      expect_complete(GrammarKind::JsonSchema, typed, random);
      expect_complete(GrammarKind::JsonSchema,
                      R"({"type":"object","properties":{"b":)" + typed +
                          R"(},"required":["b"],"additionalProperties":false})",
                      random);
    }
  }
}

TEST(TokenLimit, BelowTheBytesTakesTheLongestSteps) {
  static const auto kTokens = limited_vocabulary();
  const auto compiled = Grammar::compile(
      GrammarKind::JsonSchema,
      R"({"type":"object","properties":{"name":{"const":"name"}},"required":["name"]})");
  GrammarMatcher matcher(std::make_shared<const TokenMasks>(compiled, kTokens));
  ASSERT_EQ(matcher.shortest_bytes(), std::string_view(R"({"name":"name"})").size());
  Random random(5);
  // {" name": " name "}
  EXPECT_EQ(generate(matcher, 5, random), R"({"name":"name"})");
}

}  // namespace
}  // namespace tenon
