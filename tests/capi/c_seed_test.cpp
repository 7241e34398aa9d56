// Random seeds: drawn once per answer, reported, saved, and reproducible.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "code_of.h"

namespace {

using tenon_test::code_of;

constexpr const char* kPrompt = "Once upon a time";
// Length at which no two hot answers are equal.
constexpr uint64_t kLength = 24;

tenon::SamplerOptions hot(std::optional<int64_t> seed = {}) {
  return {.temperature = 2.0, .top_k = 0, .top_p = 1.0, .min_p = 0.0, .seed = seed};
}

class CSeed : public testing::Test {
 protected:
  tenon::Session prompted() const {
    tenon::Session session(model_);
    session.append(kPrompt, {.add_special = true});
    return session;
  }
  static std::vector<tenon::Token> drawn(tenon::Session& session, tenon::Sampler& sampler,
                                         uint64_t count = kLength) {
    std::vector<tenon::Token> tokens;
    while (tokens.size() < count) {
      for (const tenon::Piece& piece : session.generate(sampler, count - tokens.size())) {
        tokens.push_back(piece.token);
      }
    }
    return tokens;
  }
  std::vector<tenon::Token> answer(int64_t seed) const {
    tenon::Session session = prompted();
    tenon::Sampler sampler(hot(seed));
    return drawn(session, sampler);
  }
  static std::vector<tenon::Token> requested(tenon::Session& session, const tenon::Sampler* sampler,
                                             int64_t* seed) {
    tenon::Request request =
        tenon::submit(session, {.ignore_end = true, .sampler = sampler, .max_tokens = kLength});
    *seed = request.seed();
    std::vector<tenon::Token> tokens;
    while (const auto piece = request.next()) tokens.push_back(piece->token);
    EXPECT_EQ(request.seed(), *seed);
    return tokens;
  }

  const tenon::Model model_{TENON_DEMO_MODEL, {.threads = 1}};
};

TEST_F(CSeed, EachAnswerHasItsOwnAndComesAgainWithIt) {
  std::set<std::vector<tenon::Token>> answers;
  std::set<int64_t> seeds;
  tenon::Sampler sampler(hot());
  tenon::Session session = prompted();
  const uint64_t prompt = session.position();
  EXPECT_EQ(code_of([&] { (void)session.seed(); }), tenon::Code::State);
  for (int i = 0; i < 5; ++i) {
    session.rewind(prompt);  // "regenerate"
    const auto tokens = drawn(session, sampler);
    const int64_t seed = session.seed();
    EXPECT_GE(seed, 0);
    EXPECT_LT(seed, int64_t{1} << 52);
    EXPECT_EQ(sampler.seed(), seed);
    EXPECT_EQ(answer(seed), tokens);
    answers.insert(tokens);
    seeds.insert(seed);
  }
  EXPECT_EQ(answers.size(), 5u);
  EXPECT_EQ(seeds.size(), 5u);
}

TEST_F(CSeed, MinusOneAndRandomAskForIt) {
  for (const char* text : {"-1", "random"}) {
    tenon::Sampler sampler(tenon::SamplerOptions{.extra = {{"seed", text}}});
    tenon::Session session = prompted();
    drawn(session, sampler, 1);
    const int64_t first = session.seed();
    session.append(" and");
    drawn(session, sampler, 1);
    EXPECT_NE(session.seed(), first) << text;
  }
  EXPECT_EQ(code_of([] { tenon::Sampler({.seed = -2}); }), tenon::Code::Argument);
  EXPECT_EQ(code_of([] {
              tenon::Sampler({.extra = {{"top_k", "random"}}});
            }),
            tenon::Code::Argument);
  tenon::Sampler sampler(hot(7));
  EXPECT_EQ(sampler.seed(), 7);
  EXPECT_EQ(tenon_sampler_set_int(sampler.get(), "seed", -1), TENON_OK);
  EXPECT_NE(sampler.seed(), 7);
}

TEST_F(CSeed, SessionsRequestsAndTheDefaultsHaveTheirOwn) {
  std::set<int64_t> seeds;
  const tenon::Sampler sampler(hot());
  for (int i = 0; i < 4; ++i) {
    int64_t seed = 0;
    tenon::Session session = prompted();
    const auto tokens = requested(session, &sampler, &seed);
    EXPECT_EQ(session.seed(), seed);
    seeds.insert(seed);
    int64_t told = 0;
    tenon::Session again = prompted();
    const tenon::Sampler same(hot(seed));
    EXPECT_EQ(requested(again, &same, &told), tokens);
    EXPECT_EQ(told, seed);
    tenon::Session without = prompted();
    (void)requested(without, nullptr, &seed);
    seeds.insert(seed);
    tenon::Session called = prompted();
    EXPECT_EQ(tenon_session_generate(called.get(), nullptr, 2, nullptr, nullptr), TENON_OK);
    seeds.insert(called.seed());
  }
  EXPECT_EQ(seeds.size(), 12u);
}

TEST_F(CSeed, AnAnswerThatGoesOnKeepsIt) {
  tenon::Session session = prompted();
  const uint64_t prompt = session.position();
  tenon::Sampler sampler(hot());
  auto tokens = drawn(session, sampler, 8);
  const int64_t seed = session.seed();
  const auto whole = answer(seed);
  ASSERT_EQ(std::vector(whole.begin(), whole.begin() + 8), tokens);
  const std::vector<tenon::Token> rest(whole.begin() + 8, whole.end());

  const std::vector<std::byte> saved = session.save();
  tenon::Session restored(model_);
  restored.restore(saved);
  EXPECT_EQ(restored.seed(), seed);
  tenon::Session fork = session.fork();
  EXPECT_EQ(fork.seed(), seed);
  for (tenon::Session* one : {&session, &restored, &fork}) {
    // A new sampler continues with the seed.
    tenon::Sampler other(hot());
    EXPECT_EQ(drawn(*one, other, kLength - 8), rest);
    EXPECT_EQ(one->seed(), seed);
  }
  // A request that continues the answer keeps the seed.
  tenon::Session later(model_);
  later.restore(saved);
  int64_t told = 0;
  (void)requested(later, &sampler, &told);
  EXPECT_EQ(told, seed);
  // Any other change of the text begins a new answer.
  session.rewind(prompt);
  drawn(session, sampler, 1);
  EXPECT_NE(session.seed(), seed);
  restored.append(" and");
  EXPECT_EQ(restored.seed(), seed);
  drawn(restored, sampler, 1);
  EXPECT_NE(restored.seed(), seed);
}

TEST_F(CSeed, BestOfCountsUpFromIt) {
  tenon::Session session = prompted();
  tenon::Sampler sampler(hot());
  const tenon::Session::BestOf of = session.best_of(sampler, 3, kLength);
  ASSERT_EQ(of.candidates.size(), 3u);
  const int64_t first = of.candidates[0].seed;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(of.candidates[i].seed, first + static_cast<int64_t>(i));
    const auto alone = answer(of.candidates[i].seed);
    const auto& tokens = of.candidates[i].tokens;
    EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), alone.begin()));
  }
  EXPECT_EQ(session.seed(), of.candidates[of.best].seed);
  tenon::Session other = prompted();
  EXPECT_NE(other.best_of(sampler, 1, 4).candidates[0].seed, first);
  tenon::Sampler fixed(hot(40));
  tenon::Session third = prompted();
  EXPECT_EQ(third.best_of(fixed, 2, 4).candidates[1].seed, 41);
}

TEST_F(CSeed, AllSamplersOfTheChainShareIt) {
  tenon::SamplerOptions options = hot();
  options.extra = {{"xtc_probability", "0.5"}, {"xtc_threshold", "0.02"}};
  for (const char* steering : {"mirostat", "adaptive_target"}) {
    tenon::SamplerOptions steered = options;
    steered.extra.emplace_back(steering, steering == std::string("mirostat") ? "2" : "0.4");
    tenon::Sampler sampler(steered);
    tenon::Session session = prompted();
    const auto tokens = drawn(session, sampler);
    steered.seed = session.seed();
    tenon::Sampler same(steered);
    tenon::Session again = prompted();
    EXPECT_EQ(drawn(again, same), tokens) << steering;
  }
}

TEST_F(CSeed, LoopsOfTheHostHaveOneUntilReset) {
  tenon::Sampler sampler(hot());
  const std::vector<float> logits(1000, 0.0F);
  const auto draws = [&](tenon::Sampler& with) {
    std::vector<tenon::Token> tokens;
    for (uint64_t i = 0; i < 8; ++i) tokens.push_back(with.sample(logits, {}, i));
    return tokens;
  };
  const auto first = draws(sampler);
  const int64_t seed = sampler.seed();
  EXPECT_EQ(draws(sampler), first);
  tenon::Sampler same(hot(seed));
  EXPECT_EQ(draws(same), first);
  sampler.reset();
  EXPECT_NE(sampler.seed(), seed);
  EXPECT_NE(draws(sampler), first);
}

TEST_F(CSeed, IsAskedForWithCare) {
  tenon::Session session = prompted();
  tenon::Sampler sampler;
  EXPECT_EQ(tenon_session_seed(nullptr, nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_session_seed(session.get(), nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_sampler_seed(sampler.get(), nullptr), TENON_ERROR_ARGUMENT);
  tenon::Request request = tenon::submit(session, {.max_tokens = 2});
  EXPECT_EQ(tenon_request_seed(request.get(), nullptr), TENON_ERROR_ARGUMENT);
}

}  // namespace
