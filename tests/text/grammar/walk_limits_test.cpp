// Hostile grammars during matching: each mask stays within its bounds on time and memory.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <random>
#include <set>

#include "base/error.h"
#include "tests/base/processor_time.h"
#include "text/grammar/matcher.h"

namespace tenon {
namespace {

using grammar::TokenMasks;
using grammar::TokenSet;

constexpr double kMostSeconds = 0.05;

/// Bytes and invented words, with and without a leading space: 120,000 tokens.
std::shared_ptr<const TokenSet> large_vocabulary() {
  std::mt19937 random(1);
  std::set<std::string> seen;
  std::vector<std::string> texts{""};
  const auto add = [&](const std::string& text) {
    if (seen.insert(text).second) texts.push_back(text);
  };
  for (int b = 0; b < 256; ++b) add(std::string(1, static_cast<char>(b)));
  while (texts.size() < 120'000) {
    std::string word = random() % 2 != 0 ? " " : "";
    const size_t letters = 2 + random() % 9;
    for (size_t i = 0; i < letters; ++i) word += static_cast<char>('a' + random() % 26);
    add(word);
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return std::make_shared<const TokenSet>(views, std::vector<Token>{0});
}
const std::shared_ptr<const TokenSet>& vocabulary_of_words() {
  static const auto tokens = large_vocabulary();
  return tokens;
}

std::string listed_texts(size_t count, const char* between,
                         const std::function<std::string(size_t)>& make) {
  std::string result;
  for (size_t i = 0; i < count; ++i) result += (i > 0 ? between : "") + make(i);
  return result;
}

/// Rules that each call two others, both of which accept the same letters.
std::string tangle(size_t rules) {
  const auto name = [&](size_t i) { return "r" + std::to_string(i % rules); };
  return "root ::= r0\n" + listed_texts(rules, "\n", [&](size_t i) {
           return name(i) + " ::= [a-z] " + name(i * 7 + 1) + " | [a-m ] " + name(i * 13 + 5) +
                  " | \".\"";
         });
}

/// Takes up to 30 tokens. Returns the code of an error that ended it; checks every mask's bounds.
std::optional<Code> generate(GrammarKind kind, const std::string& text) {
  std::optional<Code> code;
  try {
    const auto masks =
        std::make_shared<const TokenMasks>(Grammar::compile(kind, text), vocabulary_of_words());
    GrammarMatcher matcher(masks);
    std::mt19937 random(3);
    for (int step = 0; step < 30 && !matcher.is_ended(); ++step) {
      std::vector<Token> allowed;
      const double seconds = processor_seconds(
          [&] {
            try {
              const auto mask = matcher.mask(false);
              allowed.clear();
              for (size_t t = 1; t < matcher.tokens().size(); ++t) {
                if ((mask[t / 64] >> (t % 64) & 1) != 0) allowed.push_back(static_cast<Token>(t));
              }
            } catch (const Error& error) {
              code = error.code();
            }
          },
          kMostSeconds);
      EXPECT_LE(seconds, kMostSeconds) << text.substr(0, 60);
      EXPECT_LE(matcher.most_bytes(), size_t{64} << 20) << text.substr(0, 60);
      if (code || allowed.empty()) break;
      matcher.accept(allowed[random() % allowed.size()]);
    }
  } catch (const Error& error) {
    code = error.code();
  }
  return code;
}

TEST(WalkLimits, RulesThatCallEachOther) {
  for (const size_t rules : {250, 500, 1000, 4000}) {
    EXPECT_EQ(generate(GrammarKind::Gbnf, tangle(rules)), Code::Limit) << rules;
  }
}

TEST(WalkLimits, AmbiguousGrammars) {
  const auto kind = GrammarKind::Gbnf;
  for (const char* text : {"root ::= a+\na ::= x | x a y\nx ::= [a-z ]+\ny ::= [a-z ]+",
                           "root ::= [a-z ] root [a-z ] root | [a-z ] root root [a-z ] | [a-z ]",
                           "root ::= (w{1,300} \" \"?){1,300}\nw ::= [a-z]{1,40} | [a-m ]{1,60}",
                           "root ::= [a-z ]{1,1000} x{1,1000}\nx ::= [a-z]{1,20} | [^b]{2,30}"}) {
    EXPECT_EQ(generate(kind, text), Code::Limit) << text;
  }
  // Within the bounds with this vocabulary.
  EXPECT_EQ(generate(kind,
                     "root ::= (a | b)+\na ::= [^\\u00e0-\\uffff]{1,50} b?\n"
                     "b ::= [\\u0020-\\u07ff]+ a?"),
            std::nullopt);
  EXPECT_EQ(generate(kind, "root ::= \"a\" root \"b\" | [a-z] root [a-z] | [a-z ]"), std::nullopt);
}

TEST(WalkLimits, LargeSchemasAreServed) {
  const auto kind = GrammarKind::JsonSchema;
  const auto tool = [](size_t i) {
    return "{\"type\":\"object\",\"properties\":{\"name\":{\"const\":\"tool" + std::to_string(i) +
           "\"},\"arguments\":{\"type\":\"object\"}},\"required\":[\"name\"]}";
  };
  EXPECT_EQ(generate(kind, "{\"anyOf\":[" + listed_texts(64, ",", tool) + "]}"), std::nullopt);
  const auto value = [](size_t i) { return "\"v" + std::to_string(i * 7919 % 1000) + "\""; };
  EXPECT_EQ(generate(kind,
                     "{\"type\":\"array\",\"uniqueItems\":true,\"minItems\":200,\"items\":"
                     "{\"enum\":[" +
                         listed_texts(250, ",", value) + "]}}"),
            std::nullopt);
}

TEST(WalkLimits, AWatchEndsAWalk) {
  struct Third : WorkWatch {
    void look() override {
      if (++looks == 3) fail(Code::Cancelled, "cancelled");
    }
    int looks = 0;
  } watch;
  GrammarMatcher matcher(std::make_shared<const TokenMasks>(
      Grammar::compile(GrammarKind::Gbnf, tangle(1000)), vocabulary_of_words()));
  matcher.set_watch(&watch);
  try {
    (void)matcher.mask(false);
    ADD_FAILURE() << "not ended";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Cancelled);
  }
  EXPECT_EQ(watch.looks, 3);
}

/// Ends the walk at a chosen call of look().
struct EndAt : WorkWatch {
  explicit EndAt(int look) : left(look) {}
  void look() override {
    if (--left == 0) fail(Code::Cancelled, "cancelled");
  }
  int left;
};

/// Asks with a watch that ends the walk at call number `look`; true if it ended.
template <typename Question>
bool is_ended(GrammarMatcher& matcher, int look, const Question& question) {
  EndAt watch(look);
  matcher.set_watch(&watch);
  bool ended = false;
  try {
    question();
  } catch (const Error&) {
    ended = true;
  }
  matcher.set_watch(nullptr);
  return ended;
}

GrammarMatcher matcher_of(GrammarKind kind, const std::string& text) {
  return GrammarMatcher(
      std::make_shared<const TokenMasks>(Grammar::compile(kind, text), vocabulary_of_words()));
}

/// Token of a single byte.
Token byte_token(char c) { return static_cast<Token>(1 + static_cast<unsigned char>(c)); }

TEST(WalkLimits, AMaskThatWasEndedAnywhereIsTheSameLater) {
  const std::string schema =
      "{\"type\":\"object\",\"required\":[\"a\",\"b\"],\"properties\":{\"a\":{\"type\":\"object\","
      "\"minProperties\":2,\"additionalProperties\":{\"type\":\"string\"}},\"b\":{\"type\":"
      "\"integer\"}},\"additionalProperties\":{\"type\":[\"object\",\"array\"]}}";
  const std::string text = "{\"a\":{\"key\":\"v\",\"other\":\"w\"},\"c\":{\"d\":[{}]},\"b\":17}";
  GrammarMatcher calm = matcher_of(GrammarKind::JsonSchema, schema);
  std::vector<std::vector<uint64_t>> masks;
  for (const char c : text) {
    const auto mask = calm.mask(true);
    masks.emplace_back(mask.begin(), mask.end());
    calm.accept(byte_token(c));
  }
  int num_ended = 0;
  for (const int look : {1, 2, 3, 4, 5, 7, 9, 12}) {
    GrammarMatcher matcher = matcher_of(GrammarKind::JsonSchema, schema);
    for (size_t i = 0; i < text.size(); ++i) {
      num_ended += is_ended(matcher, look, [&] { (void)matcher.mask(true); }) ? 1 : 0;
      const auto mask = matcher.mask(true);
      ASSERT_TRUE(std::equal(mask.begin(), mask.end(), masks[i].begin())) << look << " at " << i;
      matcher.accept(byte_token(text[i]));
    }
  }
  EXPECT_GT(num_ended, 10);
}

}  // namespace
}  // namespace tenon
