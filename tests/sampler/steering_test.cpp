// DRY, XTC, top-n-sigma, dynamic temperature, Mirostat and adaptive-p.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sampler/sampler.h"

namespace tenon {
namespace {

using Tokens = std::vector<int32_t>;

const SamplerStage& stage(std::string_view name) {
  const auto chain = sampler_chain();
  return **std::find_if(chain.begin(), chain.end(),
                        [name](const SamplerStage* s) { return s->name == name; });
}

/// Candidates left by a stage.
struct Left {
  Tokens ids;
  std::vector<float> logits;
};

Left after(std::string_view name, std::vector<float> logits, const SamplerValues& values,
           const Tokens& history = {}, const Tokens& breakers = {}) {
  Candidates candidates(System::real());
  candidates.assign(logits);
  const SamplerInput input{values, {}, history, history.size(), breakers, nullptr};
  EXPECT_EQ(stage(name).apply(candidates, input), std::nullopt);
  Left left;
  for (size_t i = 0; i < candidates.size(); ++i) {
    left.ids.push_back(candidates.id(i));
    left.logits.push_back(candidates.logits()[i]);
  }
  return left;
}

std::vector<float> logs(std::vector<float> probabilities) {
  for (float& p : probabilities) p = std::log(p);
  return probabilities;
}

/// Logits of a distribution with weight 1 / r for rank r.
std::vector<float> zipf(size_t n) {
  std::vector<float> logits(n);
  for (size_t i = 0; i < n; ++i) logits[i] = -std::log(static_cast<float>(i + 1));
  return logits;
}

TEST(TopNSigma, KeepsWhatIsNearTheLargest) {
  SamplerValues values;
  const std::vector<float> logits = {0, 0, 0, 0, 0, 0, 0, 10, 9, 5, -INFINITY};
  EXPECT_EQ(after("top_n_sigma", logits, values).ids.size(), logits.size());
  values.set("top_n_sigma", 1.0);  // one standard deviation is 3.85
  EXPECT_EQ(after("top_n_sigma", logits, values).ids, (Tokens{7, 8}));
  EXPECT_EQ(after("top_n_sigma", {5, 5, 5}, values).ids, (Tokens{0, 1, 2}));
  EXPECT_EQ(after("top_n_sigma", {5}, values).ids, (Tokens{0}));
}

TEST(Xtc, DropsAllTopChoicesButTheLeast) {
  SamplerValues values;
  const auto logits = logs({0.1f, 0.4f, 0.21f, 0.29f});
  values.set("xtc_threshold", 0.2);
  EXPECT_EQ(after("xtc", logits, values).ids.size(), 4u);  // never, by default
  values.set("xtc_probability", 1.0);
  EXPECT_EQ(after("xtc", logits, values).ids, (Tokens{0, 2}));
  values.set("xtc_threshold", 0.35);  // a single one stays
  EXPECT_EQ(after("xtc", logits, values).ids.size(), 4u);
  EXPECT_EQ(after("xtc", {1}, values).ids, (Tokens{0}));
}

TEST(Xtc, HappensAsOftenAsSaid) {
  SamplerValues values;
  values.set("xtc_probability", 0.3);
  int dropped = 0;
  for (size_t position = 0; position < 1000; ++position) {
    const Tokens history(position, 0);
    dropped += after("xtc", {1, 1, -5}, values, history).ids.size() < 3 ? 1 : 0;
  }
  EXPECT_NEAR(dropped, 300, 50);
}

TEST(Dry, LowersWhatWouldLengthenARepetition) {
  SamplerValues values;
  values.set("dry_multiplier", 2.0);
  values.set("dry_base", 3.0);
  const std::vector<float> logits(10, 0.0f);
  // 1 2 3 occurs again; 9 followed last time.
  const auto left = after("dry", logits, values, {1, 2, 3, 9, 5, 1, 2, 3});
  EXPECT_EQ(left.logits[9], -6.0f);  // 2 * 3^(3 - 2)
  EXPECT_EQ(std::count(left.logits.begin(), left.logits.end(), 0.0f), 9);
  // The longest repetition counts: 4 after "3" alone is below the allowed length.
  const auto two = after("dry", logits, values, {3, 4, 2, 3, 7, 1, 2, 3, 8, 1, 2, 3});
  EXPECT_EQ(two.logits[4], 0.0f);
  EXPECT_EQ(two.logits[7], -2.0f);
  EXPECT_EQ(two.logits[8], -6.0f);
}

TEST(Dry, StopsAtBreakersAndAtItsReach) {
  SamplerValues values;
  values.set("dry_multiplier", 1.0);
  const std::vector<float> logits(10, 0.0f);
  const Tokens history = {1, 2, 3, 9, 1, 2, 3};
  EXPECT_EQ(after("dry", logits, values, history, {3}).logits[9], 0.0f);
  EXPECT_EQ(after("dry", logits, values, history, {1}).logits[9], -1.0f);  // 2 3 is left
  values.set("dry_last_n", int64_t{4});
  EXPECT_EQ(after("dry", logits, values, history).logits[9], 0.0f);
  values.set("dry_last_n", int64_t{-1});
  EXPECT_EQ(after("dry", logits, values, {}).logits, logits);
  EXPECT_EQ(after("dry", logits, values, {500, -3, 500, -3, 500}).logits, logits);
}

TEST(Dry, ALongRepetitionStaysFinite) {
  SamplerValues values;
  values.set("dry_multiplier", 100.0);
  values.set("dry_base", 10.0);
  std::vector<float> logits(5000, 0.0f);
  const auto left = after("dry", logits, values, Tokens(5000, 7));
  EXPECT_LT(left.logits[7], -1e29f);
  EXPECT_TRUE(std::isfinite(left.logits[7]));
}

TEST(DynamicTemperature, FollowsTheEntropy) {
  SamplerValues values;
  values.set("temperature", 1.0);
  values.set("dynatemp_range", 0.5);
  // Uniform: the largest entropy, temperature 1.5, which changes nothing among equals.
  const auto even = after("temperature", {2, 2, 2, 2}, values).logits;
  EXPECT_EQ(even, std::vector<float>(4, 0.0f));
  // Uniform over two of four: entropy 1/2, temperature 1.
  const auto half = after("temperature", {0, 0, -40, -40}, values).logits;
  EXPECT_NEAR(half[2], -40.0, 1e-3);
  // Certain: temperature 0.5.
  EXPECT_NEAR(after("temperature", {40, 0, 0, 0}, values).logits[1], -80.0, 1e-3);
}

/// Mean surprise of draws from one distribution, in bits.
double mean_surprise(Sampler& sampler, const std::vector<float>& logits, int draws) {
  double total = 0.0;
  for (const float logit : logits) total += std::exp(logit);
  double sum = 0.0;
  for (int i = 0; i < draws; ++i) {
    const int32_t token = sampler.sample(logits, {}, static_cast<uint64_t>(i));
    sum -= std::log2(std::exp(logits[static_cast<size_t>(token)]) / total);
  }
  return sum / draws;
}

TEST(Mirostat, HoldsTheSurpriseNearItsTarget) {
  for (const int64_t version : {1, 2}) {
    for (const double tau : {3.0, 5.0}) {
      Sampler sampler;
      sampler.set("seed", int64_t{0});
      sampler.set("temperature", 1.0);
      sampler.set("mirostat", version);
      sampler.set("mirostat_tau", tau);
      // Surprise is measured among the kept tokens, so that of all tokens is slightly higher.
      EXPECT_NEAR(mean_surprise(sampler, zipf(4000), 1500), tau + 0.5, 1.2)
          << version << " " << tau;
    }
  }
}

TEST(Mirostat, StandsEdgeCases) {
  for (const int64_t version : {1, 2}) {
    Sampler sampler;
    sampler.set("seed", int64_t{0});
    sampler.set("mirostat", version);
    const std::vector<float> one = {3.0f};
    EXPECT_EQ(sampler.sample(one, {}, 0), 0);
    const std::vector<float> masked = {-INFINITY, 1.0f, -INFINITY};
    for (uint64_t i = 0; i < 20; ++i) EXPECT_EQ(sampler.sample(masked, {}, i), 1);
    const std::vector<float> equal(100, 1.0f);
    for (uint64_t i = 0; i < 20; ++i) EXPECT_NO_THROW(sampler.sample(equal, {}, i));
  }
}

TEST(AdaptiveP, DrawsTokensNearTheTargetProbability) {
  const auto logits = logs({0.5f, 0.3f, 0.15f, 0.05f});
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("temperature", 1.0);
  sampler.set("top_p", 1.0);
  sampler.set("adaptive_target", 0.3);
  double sum = 0.0;
  for (uint64_t i = 0; i < 500; ++i) {
    sum += std::exp(logits[static_cast<size_t>(sampler.sample(logits, {}, i))]);
  }
  EXPECT_NEAR(sum / 500, 0.3, 0.06);
}

TEST(Sampler, MemoryOfDrawsIsCopiedAndForgotten) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("mirostat", int64_t{2});
  const auto logits = zipf(1000);
  const auto run = [&logits](Sampler& s) {
    Tokens tokens;
    for (uint64_t i = 0; i < 50; ++i) tokens.push_back(s.sample(logits, {}, i));
    return tokens;
  };
  const Tokens first = run(sampler);
  Sampler copy(sampler);
  EXPECT_EQ(run(copy), run(sampler));
  sampler.forget();
  EXPECT_EQ(run(sampler), first);
}

TEST(Sampler, RefusesBadBreakersAndValues) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  EXPECT_THROW(sampler.add_dry_breakers(std::array{-1}), Error);
  for (const char* name : {"dry_multiplier", "dry_base", "xtc_probability", "xtc_threshold",
                           "top_n_sigma", "dynatemp_range", "dynatemp_exponent", "mirostat_tau",
                           "mirostat_eta", "adaptive_target", "adaptive_decay"}) {
    for (const double bad : {std::nan(""), double{INFINITY}, -double{INFINITY}, 1e38, -5.0}) {
      EXPECT_THROW(sampler.set(name, bad), Error) << name << " " << bad;
    }
  }
  EXPECT_THROW(sampler.set("mirostat", int64_t{3}), Error);
}

}  // namespace
}  // namespace tenon
