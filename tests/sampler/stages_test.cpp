// Each sampler of the chain against its definition, computed by sorting.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "sampler/mass_cut.h"
#include "sampler/sampler.h"

namespace tenon {
namespace {

using KeptTokens = std::set<int32_t>;

/// Logits with many ties, in a fixed scrambled order.
std::vector<float> scrambled_logits(size_t n, size_t distinct) {
  std::vector<float> logits(n);
  for (size_t i = 0; i < n; ++i) {
    logits[i] =
        static_cast<float>((i * 2654435761u >> 7) % distinct) * 9.0f / static_cast<float>(distinct);
  }
  return logits;
}

std::vector<double> probabilities(std::span<const float> logits) {
  const float max = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p(logits.size());
  for (size_t i = 0; i < p.size(); ++i) p[i] = std::exp(logits[i] - max);
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= total;
  return p;
}

/// Tokens kept by the stage of `parameter` with only that parameter set.
KeptTokens kept(const char* parameter, double value, std::span<const float> logits) {
  SamplerValues values;
  values.set(parameter, value);
  Candidates candidates(System::real());
  candidates.assign(logits);
  for (const SamplerStage* stage : sampler_chain()) {
    const auto declares = [parameter](const SamplerParameter& own) {
      return std::string_view(own.name) == parameter;
    };
    if (std::none_of(stage->parameters.begin(), stage->parameters.end(), declares)) continue;
    EXPECT_EQ(stage->apply(candidates, {values, {}, {}, 0}), std::nullopt);
  }
  KeptTokens tokens;
  for (size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_EQ(candidates.logits()[i], logits[static_cast<size_t>(candidates.id(i))]);
    tokens.insert(candidates.id(i));
  }
  EXPECT_EQ(tokens.size(), candidates.size());
  return tokens;
}

/// First tokens in the order of `key` (ascending, then id) whose probabilities reach `mass`.
KeptTokens by_mass(std::span<const double> p, std::span<const double> key, double mass) {
  std::vector<int32_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [key](int32_t a, int32_t b) {
    return key[static_cast<size_t>(a)] < key[static_cast<size_t>(b)];
  });
  KeptTokens tokens;
  double sum = 0.0;
  for (const int32_t token : order) {
    tokens.insert(token);
    sum += p[static_cast<size_t>(token)];
    if (sum >= mass) break;
  }
  return tokens;
}

TEST(TopK, KeepsTheLikeliestAndTheLowerIdOfEquals) {
  for (const size_t n : {1u, 2u, 7u, 1000u, 5000u}) {
    const std::vector<float> logits = scrambled_logits(n, 50);
    std::vector<int32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&logits](int32_t a, int32_t b) {
      return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
    });
    for (const size_t k : {1u, 2u, 40u, 999u, 1024u, 1025u, 4999u, 5000u, 9000u}) {
      const size_t expected = std::min(k, n);
      EXPECT_EQ(kept("top_k", static_cast<double>(k), logits),
                KeptTokens(order.begin(), order.begin() + static_cast<ptrdiff_t>(expected)))
          << n << " " << k;
    }
    EXPECT_EQ(kept("top_k", 0, logits).size(), n);
  }
}

TEST(TopP, KeepsTheFewestThatReachTheMass) {
  for (const size_t n : {1u, 2u, 33u, 3000u}) {
    const std::vector<float> logits = scrambled_logits(n, 60);
    const std::vector<double> p = probabilities(logits);
    std::vector<double> key(n);
    for (size_t i = 0; i < n; ++i) key[i] = -logits[i];
    for (const double mass : {0.0, 0.1234, 0.5, 0.9, 0.987}) {
      EXPECT_EQ(kept("top_p", mass, logits), by_mass(p, key, mass)) << n << " " << mass;
    }
    EXPECT_EQ(kept("top_p", 1.0, logits).size(), n);
  }
}

TEST(Typical, KeepsTheMostTypicalThatReachTheMass) {
  for (const size_t n : {1u, 2u, 33u, 3000u}) {
    const std::vector<float> logits = scrambled_logits(n, 61);
    const std::vector<double> p = probabilities(logits);
    double entropy = 0.0;
    for (const double x : p) entropy -= x * std::log(x);
    std::vector<double> key(n);
    // Rounded, so that equal logits have equal keys in this computation.
    for (size_t i = 0; i < n; ++i) key[i] = std::round(std::abs(-std::log(p[i]) - entropy) * 1e5);
    for (const double mass : {0.0, 0.1234, 0.5, 0.9, 0.987}) {
      EXPECT_EQ(kept("typical_p", mass, logits), by_mass(p, key, mass)) << n << " " << mass;
    }
  }
}

TEST(Typical, DropsATokenThatIsTooLikely) {
  // One token of probability 0.4 among sixty of 0.01: the expected surprise is near the sixty.
  std::vector<float> logits(61, std::log(0.01f));
  logits[30] = std::log(0.4f);
  EXPECT_EQ(kept("typical_p", 0.3, logits).count(30), 0u);
  EXPECT_EQ(kept("top_p", 0.3, logits), KeptTokens{30});
}

TEST(MinP, KeepsWhatIsNearTheLikeliest) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.051f), std::log(0.049f), -20.0f};
  EXPECT_EQ(kept("min_p", 0.1, logits), (KeptTokens{0, 1}));
  EXPECT_EQ(kept("min_p", 1.0, logits), KeptTokens{0});
  EXPECT_EQ(kept("min_p", 0.0, logits).size(), 4u);
}

TEST(Temperature, SharpensAndFlattens) {
  const std::vector<float> logits = {2.0f, 1.0f, 0.0f};
  const auto share = [&logits](double temperature) {
    Sampler sampler;
    sampler.set("seed", int64_t{0});
    sampler.set("temperature", temperature);
    sampler.set("min_p", 0.0);
    sampler.set("top_p", 1.0);
    int first = 0;
    for (uint64_t position = 0; position < 4000; ++position) {
      first += sampler.sample(logits, {}, position) == 0 ? 1 : 0;
    }
    return first / 4000.0;
  };
  const auto expected = [&logits](double temperature) {
    std::vector<float> scaled = logits;
    for (float& x : scaled) x = static_cast<float>(x / temperature);
    return probabilities(scaled)[0];
  };
  for (const double t : {0.3, 1.0, 3.0}) EXPECT_NEAR(share(t), expected(t), 0.03) << t;
}

/// The greedy token after `penalty` = value with this history.
int32_t penalised_choice(const char* penalty, double value, std::vector<int32_t> history,
                         int64_t last_n, std::vector<float> logits) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("temperature", 0.0);
  sampler.set(penalty, value);
  sampler.set("repeat_last_n", last_n);
  return sampler.sample(logits, history, history.size());
}

TEST(Penalties, RepeatLowersLogitsOfBothSigns) {
  EXPECT_EQ(penalised_choice("repeat_penalty", 2.0, {0}, 64, {3.0f, 2.0f}), 1);
  EXPECT_EQ(penalised_choice("repeat_penalty", 2.0, {0}, 64, {-1.0f, -1.5f}), 1);
  EXPECT_EQ(penalised_choice("repeat_penalty", 1.0, {0}, 64, {3.0f, 2.0f}), 0);
}

TEST(Penalties, PresenceCountsOnceFrequencyEveryTime) {
  const std::vector<int32_t> history = {0, 0, 0, 1};
  EXPECT_EQ(penalised_choice("presence_penalty", 1.0, history, 64, {3.0f, 2.5f}), 0);
  EXPECT_EQ(penalised_choice("frequency_penalty", 1.0, history, 64, {3.0f, 2.5f}), 1);
}

TEST(Penalties, LookAtTheLastTokensOnly) {
  const std::vector<int32_t> history = {0, 1, 1};
  EXPECT_EQ(penalised_choice("presence_penalty", 5.0, history, 2, {3.0f, 2.0f}), 0);
  EXPECT_EQ(penalised_choice("presence_penalty", 5.0, {0, 2, 2}, 3, {3.0f, 2.0f, 0.0f}), 1);
  EXPECT_EQ(penalised_choice("presence_penalty", 5.0, {0, 2, 2}, -1, {3.0f, 2.0f, 0.0f}), 1);
  EXPECT_EQ(penalised_choice("presence_penalty", 5.0, {0, 2, 2}, 0, {3.0f, 2.0f, 0.0f}), 0);
}

TEST(Penalties, IgnoreTokensThatTheVocabularyLacks) {
  EXPECT_EQ(penalised_choice("presence_penalty", 5.0, {-1, 99, 0}, 64, {3.0f, 2.0f}), 1);
}

TEST(MassCut, HandlesOneAndAllAndEqualWeights) {
  const auto by_number = [](uint32_t a, uint32_t b) { return a < b; };
  for (const size_t n : {1u, 2u, 3u, 64u, 65u}) {
    std::vector<uint32_t> indices(n);
    std::iota(indices.rbegin(), indices.rend(), 0u);
    const std::vector<float> weights(n, 1.0f);
    for (size_t count = 1; count <= n; ++count) {
      EXPECT_EQ(last_within_mass(indices, weights, static_cast<double>(count), by_number),
                count - 1);
    }
    EXPECT_EQ(last_within_mass(indices, weights, 0.0, by_number), 0u);
    EXPECT_EQ(last_within_mass(indices, weights, 1e9, by_number), n - 1);
  }
}

}  // namespace
}  // namespace tenon
