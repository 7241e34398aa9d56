// Tokens forbidden for one draw, with and without a grammar: by the first draw, by masks, and in a
// text that can only end.
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sampler/sampler.h"
#include "text/grammar/matcher.h"

namespace tenon {
namespace {

using grammar::TokenMasks;
using grammar::TokenSet;

constexpr int32_t kEnd = 0;
constexpr int32_t kA = 1 + 'a';
constexpr int32_t kB = 1 + 'b';
constexpr int32_t kC = 1 + 'c';
constexpr int32_t kByteVocab = 257;

/// Token 0 is the end; token 1 + b is the byte b.
std::shared_ptr<const TokenSet> bytes() {
  std::vector<std::string> texts{""};
  for (int b = 0; b < 256; ++b) texts.push_back(std::string(1, static_cast<char>(b)));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return std::make_shared<const TokenSet>(views, std::vector<Token>{kEnd});
}

Sampler greedy_within(const std::string& pattern) {
  Sampler sampler;
  sampler.set("temperature", 0.0);
  const auto compiled = Grammar::compile(GrammarKind::Regex, pattern);
  sampler.set_grammar(
      std::make_unique<GrammarMatcher>(std::make_shared<const TokenMasks>(compiled, bytes())));
  return sampler;
}

/// Logits that prefer tokens in this order.
std::vector<float> liking(std::initializer_list<int32_t> tokens) {
  std::vector<float> logits(kByteVocab, 0.0F);
  float logit = 10;
  for (const int32_t token : tokens) logits[static_cast<size_t>(token)] = logit--;
  return logits;
}

int32_t drawn(Sampler sampler, const std::vector<float>& logits, std::vector<int32_t> forbidden) {
  return sampler.sample(logits, {}, 0, forbidden);
}

TEST(Forbidden, TokensAreNotDrawnHoweverOftenTheyAreNamed) {
  const Sampler sampler = greedy_within("[abc]x");
  // "z" is refused, so that a mask is built.
  const std::vector<float> logits = liking({1 + 'z', kA, kB, kC});
  EXPECT_EQ(drawn(sampler, logits, {}), kA);
  EXPECT_EQ(drawn(sampler, logits, {kA}), kB);
  EXPECT_EQ(drawn(sampler, logits, {kA, kA}), kB);
  EXPECT_EQ(drawn(sampler, logits, {kA, kA, kA}), kB) << "named as often as there are tokens";
  EXPECT_EQ(drawn(sampler, logits, {kB, kA, kB, kA}), kC);
  EXPECT_EQ(drawn(sampler, logits, {kA, kB, kA, kB, kB, kA}), kC);
}

TEST(Forbidden, TokensOutsideTheMaskLeaveItsOwn) {
  const Sampler sampler = greedy_within("[ab]x");
  const std::vector<float> logits = liking({1 + 'z', kA, kB});
  EXPECT_EQ(drawn(sampler, logits, {kC, 1 + 'd'}), kA) << "two that may not come anyway";
  EXPECT_EQ(drawn(sampler, logits, {kC, 1 + 'd', kA}), kB);
  EXPECT_EQ(drawn(sampler, logits, {kA, 5000, kByteVocab}), kB) << "outside the vocabulary";
}

TEST(Forbidden, AllThatAGrammarAllowsComesAllTheSame) {
  const Sampler sampler = greedy_within("[ab]x");
  const std::vector<float> logits = liking({1 + 'z', kB, kA});
  EXPECT_EQ(drawn(sampler, logits, {kA, kB}), kB);
  EXPECT_EQ(drawn(sampler, logits, {kB, kA, kA, kB}), kB);
}

TEST(Forbidden, ATextThatCanOnlyEndEnds) {
  Sampler sampler = greedy_within("a");
  EXPECT_EQ(sampler.sample(liking({kB}), {}, 0, {}), kA);
  const int32_t forbidden[] = {kEnd, kEnd};
  EXPECT_EQ(sampler.sample(liking({kB, kC}), {}, 1, forbidden), kEnd);
}

TEST(Forbidden, WithoutAGrammarTheNextOneComes) {
  Sampler sampler;
  sampler.set("temperature", 0.0);
  EXPECT_EQ(drawn(sampler, liking({kA, kB, kC}), {kA, kA}), kB);
  EXPECT_EQ(drawn(sampler, liking({kA, kB, kC}), {kB, kA}), kC);
}

TEST(Forbidden, ADescriptionNamesEachOnceBesideTheBiases) {
  Sampler sampler;
  sampler.set("temperature", 0.0);
  sampler.set_logit_bias(kA, 2.0F);
  std::vector<tenon_draw_bias> biases{{7, 1.0F}};  // left by an earlier draw
  tenon_draw draw{};
  const int32_t forbidden[] = {kB, kA, kB, 5000};
  ASSERT_TRUE(sampler.describe_draw(draw, biases, 3, forbidden, kByteVocab));
  ASSERT_EQ(draw.num_biases, 2u);
  ASSERT_EQ(biases.size(), 3u);
  EXPECT_EQ(biases[1].token, kA);
  EXPECT_LT(biases[1].bias, -1e30F) << "forbidden counts, not the bias";
  EXPECT_EQ(biases[2].token, kB);
  EXPECT_LT(biases[2].bias, -1e30F);
}

}  // namespace
}  // namespace tenon
