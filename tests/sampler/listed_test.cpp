// Tokens drawn from the largest logits, as a device lists them, equal those drawn from the whole
// row, bit for bit; or the list is reported as too short.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "abi/philox.h"
#include "backends/common/host_draw.h"
#include "sampler/sampler.h"

namespace tenon {
namespace {

constexpr uint32_t kVocab = 3000;

struct RowShape {
  double scale = 12;  ///< range of the logits; if small, none stands out
  double step = 0;    ///< logits are multiples of it, so that many are equal; 0: any
};

std::vector<float> row_of(uint64_t number, const RowShape& shape, uint32_t vocab = kVocab) {
  std::vector<float> row(vocab);
  for (uint32_t i = 0; i < vocab; ++i) {
    double logit = shape.scale * (uniform_at(number, i) - 0.5);
    if (shape.step != 0) logit = std::round(logit / shape.step) * shape.step;
    row[i] = static_cast<float>(logit);
  }
  return row;
}

std::vector<int32_t> history_of(uint64_t number, uint32_t size, std::span<const float> row) {
  std::vector<int32_t> history(size);
  for (uint32_t i = 0; i < size; ++i) {
    // Half of the history are likely tokens, some of them repeated.
    auto token = static_cast<uint32_t>(uniform_at(number + 1, i) * kVocab) % row.size();
    if (i % 2 == 0) {
      for (size_t t = 0; t < row.size(); ++t) {
        if (row[t] > row[token] && (t * 7 + i) % 5 == 0) token = t;
      }
    }
    history[i] = static_cast<int32_t>(token);
  }
  return history;
}

/// A list as a device makes it.
struct Listed {
  std::vector<int32_t> tokens;
  std::vector<float> logits;
  uint64_t vocab = 0;
  [[nodiscard]] ListedLogits view() const { return {tokens, logits, vocab}; }
};

Listed list(tenon_draw draw, const std::vector<tenon_draw_bias>& biases,
            std::span<const float> row) {
  Listed listed;
  listed.vocab = row.size();
  listed.tokens.resize(draw.num_candidates);
  listed.logits.resize(draw.num_candidates);
  tenon_drawn drawn{};
  draw.biases = biases.data();
  draw.drawn = &drawn;
  draw.candidates = listed.tokens.data();
  draw.logits = listed.logits.data();
  backends::HostDraw().run(draw, row);
  EXPECT_EQ(drawn.flags, 0u);
  listed.tokens.resize(drawn.num_candidates);
  listed.logits.resize(drawn.num_candidates);
  return listed;
}

struct Chain {
  const char* name;
  std::function<void(Sampler&)> set;
  bool always_tells = true;  ///< tells the token for any row
};

const std::vector<Chain>& chains() {
  static const std::vector<Chain> all = {
      {"Penalised",
       [](Sampler& s) {
         s.set("repeat_penalty", 1.3);
         s.set("presence_penalty", 0.5);
         s.set("frequency_penalty", 0.2);
       }},
      {"PenalisedByAll",
       [](Sampler& s) {
         s.set("frequency_penalty", 2.0);
         s.set("repeat_last_n", int64_t{-1});
       }},
      {"PenalisedGreedy",
       [](Sampler& s) {
         s.set("temperature", 0.0);
         s.set("repeat_penalty", 10.0);
         s.set("repeat_last_n", int64_t{-1});
       }},
      {"Dry",
       [](Sampler& s) {
         s.set("dry_multiplier", 3.0);
         s.set("dry_allowed_length", int64_t{1});
         const int32_t breakers[] = {5, 6};
         s.add_dry_breakers(breakers);
       }},
      {"Typical", [](Sampler& s) { s.set("typical_p", 0.7); }},
      {"Xtc",
       [](Sampler& s) {
         s.set("xtc_probability", 0.9);
         s.set("xtc_threshold", 0.02);
       }},
      {"Dynamic",
       [](Sampler& s) {
         s.set("dynatemp_range", 0.5);
         s.set("top_k", int64_t{700});
       }},
      {"Adaptive", [](Sampler& s) { s.set("adaptive_target", 0.3); }},
      {"MinPAlone",
       [](Sampler& s) {
         s.set("top_k", int64_t{0});
         s.set("top_p", 1.0);
         s.set("min_p", 0.001);
         s.set("presence_penalty", 0.7);
       },
       false},
      {"AllTogether",
       [](Sampler& s) {
         s.set("repeat_penalty", 1.1);
         s.set("dry_multiplier", 0.8);
         s.set("top_k", int64_t{20});
         s.set("typical_p", 0.9);
         s.set("top_p", 0.8);
         s.set("min_p", 0.1);
         s.set("xtc_probability", 0.3);
         s.set("dynatemp_range", 0.2);
         s.set("adaptive_target", 0.5);
       }},
  };
  return all;
}

bool same_memory(const SamplerMemory& a, const SamplerMemory& b) {
  return a.mirostat_surprise == b.mirostat_surprise && a.adaptive_sum == b.adaptive_sum &&
         a.adaptive_weight == b.adaptive_weight;
}

/// Draws `count` tokens from rows and from their lists; returns how often a list was too short.
uint32_t draw_both(const Chain& chain, const RowShape& shape, uint32_t count,
                   std::span<const int32_t> forbidden = {}) {
  Sampler whole;
  whole.set("seed", int64_t{11});
  whole.set_logit_bias(17, 4.0F);
  whole.set_logit_bias(18, -4.0F);
  whole.set_logit_bias(19, -std::numeric_limits<float>::infinity());
  chain.set(whole);
  Sampler by_list(whole);
  uint32_t num_untold = 0;
  for (uint64_t position = 0; position < count; ++position) {
    const std::vector<float> row = row_of(position, shape);
    const std::vector<int32_t> history = history_of(position, 3 + position % 90, row);
    tenon_draw draw{};
    std::vector<tenon_draw_bias> biases;
    EXPECT_TRUE(by_list.describe_candidates(draw, biases, history, forbidden, kVocab));
    const Listed listed = list(draw, biases, row);
    const int32_t expected = whole.sample(row, history, position, forbidden);
    const SamplerMemory before = by_list.memory();
    const auto token = by_list.sample_listed(listed.view(), history, position, forbidden);
    if (token) {
      EXPECT_EQ(*token, expected) << position;
    } else {
      ++num_untold;
      EXPECT_TRUE(same_memory(by_list.memory(), before));
      EXPECT_EQ(by_list.sample(row, history, position, forbidden), expected);
    }
    EXPECT_TRUE(same_memory(whole.memory(), by_list.memory())) << position;
  }
  return num_untold;
}

TEST(Listed, LogitsGiveTheTokenOfTheRow) {
  const int32_t forbidden[] = {1, 17, 2000};
  for (const Chain& chain : chains()) {
    SCOPED_TRACE(chain.name);
    for (const RowShape& shape :
         {RowShape{}, RowShape{40, 0}, RowShape{12, 1.0}, RowShape{0.5, 0.25}}) {
      const uint32_t num_untold =
          draw_both(chain, shape, 60) + draw_both(chain, shape, 20, forbidden);
      if (!chain.always_tells) continue;
      EXPECT_EQ(num_untold, 0u) << shape.scale;
    }
  }
}

TEST(Listed, LogitsThatDoNotReachFarEnoughTellNothing) {
  // min_p keeps nearly all of 3,000 nearly equal logits.
  EXPECT_EQ(draw_both(chains()[8], {0.5, 0}, 20), 20u);
  EXPECT_EQ(draw_both(chains()[8], {40, 0}, 20), 0u);
  // Three of five logits fall below the unlisted ones.
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("top_k", int64_t{3});
  sampler.set("repeat_penalty", 2.0);
  const int32_t tokens[] = {7, 1, 4, 2, 9};
  const float logits[] = {9, 8, 7, 6, 6};
  const int32_t history[] = {7, 1, 4};
  EXPECT_EQ(sampler.sample_listed({tokens, logits, 100}, history, 0), std::nullopt);
  EXPECT_NE(sampler.sample_listed({tokens, logits, 100}, std::span(history).first(2), 0),
            std::nullopt);
}

/// Ties go to the lower token, listed or not.
TEST(Listed, LogitsEqualToTheOthersAreToldByTheirTokens) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("temperature", 0.0);
  sampler.set("presence_penalty", 1.0);
  const int32_t tokens[] = {50, 20, 60};
  const float logits[] = {6, 5, 5};
  const int32_t fifty[] = {50};
  // 50 falls to 5, like 20 and 60; all others are at most 5 and come after 60.
  EXPECT_EQ(sampler.sample_listed({tokens, logits, 100}, fifty, 0), 20);
  // Once 20 is lowered, too, 50 precedes 60 and all unlisted tokens.
  const int32_t both[] = {50, 20};
  EXPECT_EQ(sampler.sample_listed({tokens, logits, 100}, both, 0), 50);
  // But unlisted tokens with 5 may precede 70.
  const int32_t later[] = {70, 20, 60};
  const int32_t seen[] = {70, 20, 60};
  EXPECT_EQ(sampler.sample_listed({later, logits, 100}, seen, 0), std::nullopt);
}

TEST(Listed, CandidatesAreNotAskedForWhereAChainLooksAtAllLogits) {
  const std::vector<std::function<void(Sampler&)>> refused = {
      [](Sampler& s) { s.set("mirostat", int64_t{1}); },
      [](Sampler& s) { s.set("mirostat", int64_t{2}); },
      [](Sampler& s) { s.set("top_n_sigma", 1.0); },
      [](Sampler& s) { s.set("presence_penalty", -0.1); },
      [](Sampler& s) { s.set("frequency_penalty", -0.1); },
      [](Sampler& s) { s.set("repeat_penalty", 0.9); },
      [](Sampler& s) { s.set("top_k", int64_t{0}); },
      [](Sampler& s) { s.set("top_k", int64_t{1025}); },
      [](Sampler& s) { s.set("top_k", int64_t{kVocab}); },
      [](Sampler& s) {
        s.set("top_k", int64_t{0});
        s.set("typical_p", 0.5);
        s.set("top_p", 1.0);
      },
      [](Sampler& s) { s.set_logit_bias(kVocab, 1.0F); },
  };
  const int32_t history[] = {1, 2, 3};
  for (size_t i = 0; i < refused.size(); ++i) {
    Sampler sampler;
    sampler.set("seed", int64_t{0});
    refused[i](sampler);
    tenon_draw draw{};
    std::vector<tenon_draw_bias> biases;
    EXPECT_FALSE(sampler.describe_candidates(draw, biases, history, {}, kVocab)) << i;
  }
}

TEST(Listed, CandidatesAreAsManyAsTheChainMayNeed) {
  const auto asked = [](const std::function<void(Sampler&)>& set, uint64_t vocab = kVocab) {
    Sampler sampler;
    sampler.set("seed", int64_t{0});
    set(sampler);
    tenon_draw draw{};
    std::vector<tenon_draw_bias> biases;
    const std::vector<int32_t> history(100, 3);
    EXPECT_TRUE(sampler.describe_candidates(draw, biases, history, {}, vocab));
    EXPECT_EQ(draw.kind, TENON_DRAW_CANDIDATES);
    return draw.num_candidates;
  };
  EXPECT_EQ(asked([](Sampler& s) { s.set("typical_p", 0.5); }), 40u);
  EXPECT_EQ(asked([](Sampler& s) { s.set("presence_penalty", 0.5); }), 40u + 64u);
  EXPECT_EQ(asked([](Sampler& s) {
              s.set("temperature", 0.0);
              s.set("dry_multiplier", 0.5);
            }),
            1u + 100u);
  EXPECT_EQ(asked([](Sampler& s) {
              s.set("top_k", int64_t{1000});
              s.set("presence_penalty", 0.5);
            }),
            1024u);
  EXPECT_EQ(asked([](Sampler& s) { s.set("presence_penalty", 0.5); }, 50), 50u);
}

}  // namespace
}  // namespace tenon
