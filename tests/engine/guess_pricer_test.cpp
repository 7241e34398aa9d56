#include "engine/guess_pricer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/speculator.h"
#include "engine/text_drafter.h"

namespace tenon {
namespace {

/// A machine where the 8th row adds half of a step.
uint64_t time_of(uint32_t rows) {
  return static_cast<uint64_t>(30e6 * std::hypot(1.0, 0.14 * rows));
}

GuessPricer measured() {
  GuessPricer pricer;
  for (uint32_t round = 0; round < 20; ++round) {
    for (uint32_t rows = 1; rows <= 40; ++rows) pricer.observe(rows, time_of(rows));
  }
  return pricer;
}

TEST(GuessPrice, TakesGuessesWhileTheyPay) {
  GuessPricer pricer = measured();
  const std::vector<float> sure(16, 0.99F);
  const std::vector<float> even{0.5F, 0.25F, 0.125F, 0.0625F};
  const std::vector<float> bad(16, 0.01F);
  EXPECT_GE(pricer.choose(sure, {.decodes = 1}), 8U);
  EXPECT_GE(pricer.choose(even, {.decodes = 1}), 2U);
  EXPECT_EQ(pricer.choose(bad, {.decodes = 1}), 0U);
  // A row costs more beside many others.
  EXPECT_EQ(pricer.choose(even, {.decodes = 16}), 0U);
  EXPECT_EQ(pricer.choose(sure, {.decodes = GuessPricer::kMostRows}), 0U);
  EXPECT_EQ(pricer.choose(sure, {.decodes = 0}), 0U);
  EXPECT_EQ(pricer.choose({}, {.decodes = 1}), 0U);
}

TEST(GuessPrice, KeepsStepsWithinALimit) {
  GuessPricer pricer = measured();
  const std::vector<float> sure(16, 0.99F);
  const uint32_t count =
      pricer.choose(sure, {.decodes = 1, .most_ns = static_cast<double>(time_of(5))});
  EXPECT_GE(count, 1U);
  EXPECT_LE(count, 4U);
  EXPECT_EQ(pricer.choose(sure, {.decodes = 1, .most_ns = 1e6}), 0U);
  // Beside a prompt a row costs what one of the prompt does.
  EXPECT_EQ(pricer.choose(sure, {.decodes = 1, .prompt_tokens = 64}), 0U) << "not measured yet";
  EXPECT_GT(pricer.choose(sure, {.decodes = 1, .prompt_tokens = 64, .prompt_token_ns = 1e6}), 0U);
}

TEST(GuessPrice, ProbesAreFew) {
  // A machine where a row costs a step, as with experts that tokens do not share.
  GuessPricer pricer;
  for (uint32_t rows = 1; rows <= 17; ++rows) pricer.observe(rows, rows * uint64_t{10'000'000});
  const std::vector<float> likely(4, 0.75F);
  uint64_t probes = 0;
  constexpr uint32_t kSteps = 4000;
  for (uint32_t step = 0; step < kSteps; ++step) {
    const uint32_t count = pricer.choose(likely, {.decodes = 1});
    probes += count;
    pricer.observe(1 + count, (1 + count) * uint64_t{10'000'000});
  }
  EXPECT_GT(probes, 0U);
  EXPECT_LE(probes, kSteps / 50);
}

TEST(GuessPrice, ASlowMomentDoesNotEndGuessing) {
  GuessPricer pricer = measured();
  for (uint32_t rows = 2; rows <= 17; ++rows) pricer.observe(rows, 100 * time_of(rows));
  const std::vector<float> sure(8, 0.99F);
  bool guesses = false;
  for (uint32_t step = 0; step < 3000 && !guesses; ++step) {
    const uint32_t count = pricer.choose(sure, {.decodes = 1});
    pricer.observe(1 + count, time_of(1 + count));
    guesses = count > 4;
  }
  EXPECT_TRUE(guesses);
}

/// Proposes the same tokens always.
class FixedDrafter final : public Drafter {
 public:
  size_t propose(std::span<const Token>, std::span<Token> tokens,
                 std::span<float> probabilities) override {
    std::fill(tokens.begin(), tokens.end(), 7);
    std::fill(probabilities.begin(), probabilities.end(), 0.95F);
    return tokens.size();
  }
};

TEST(Speculator, ClaimsAreCorrectedByWhatCame) {
  Speculator speculator(Speculation::Auto, 100);
  speculator.add(std::make_shared<FixedDrafter>());
  std::vector<Token> text{1, 2, 3};
  const auto value = [&] {
    speculator.propose(text, {}, 8);
    return speculator.values().front();
  };
  EXPECT_LT(value(), 0.2F) << "a claim alone counts little";
  for (int i = 0; i < 8; ++i) {
    text.push_back(7);
    (void)value();
  }
  EXPECT_GT(value(), 0.8F) << "seen to be right, though no guess was computed";
  for (int i = 0; i < 80; ++i) {
    text.push_back(9);
    (void)value();
  }
  EXPECT_LT(value(), 0.05F);
  for (int i = 0; i < 40; ++i) {
    text.push_back(7);
    (void)value();
  }
  EXPECT_GT(value(), 0.7F) << "and trusted again";
}

TEST(Speculator, ForcedTextComesFirst) {
  Speculator speculator(Speculation::Auto, 100);
  speculator.add(std::make_shared<FixedDrafter>());
  const std::vector<Token> text{1, 2};
  const std::vector<Token> forced{5, 4, 3};  // the next one last
  speculator.propose(text, forced, 2);
  ASSERT_EQ(speculator.guesses(2).size(), 2U);
  EXPECT_EQ(speculator.guesses(2)[0], 3);
  EXPECT_EQ(speculator.guesses(2)[1], 4);
  EXPECT_EQ(speculator.values()[1], 1.0F);
  EXPECT_TRUE(speculator.guesses(3).empty()) << "of another text";
  speculator.propose(text, {}, 0);
  EXPECT_TRUE(speculator.guesses(2).empty());
}

TEST(Speculator, CorrectsForcedTextThatIsNotDrawn) {
  Speculator speculator(Speculation::Auto, 100);
  std::vector<Token> text{1, 2};
  const std::vector<Token> forced{3};
  const auto draw = [&](Token token) {
    text.push_back(token);
    speculator.propose(text, forced, 8);
    return speculator.values().front();
  };
  EXPECT_EQ(draw(9), 1.0F);
  for (int i = 0; i < 20; ++i) (void)draw(9);
  EXPECT_LT(draw(9), 0.1F);
  for (int i = 0; i < 60; ++i) (void)draw(3);
  EXPECT_GT(draw(3), 0.7F);
}

// ---- Repetitions --------------------------------------------------------------------------------

std::vector<Token> proposal(Drafter& drafter, const std::vector<Token>& text, size_t room = 8) {
  std::vector<Token> tokens(room);
  std::vector<float> claims(room);
  tokens.resize(drafter.propose(text, tokens, claims));
  return tokens;
}

TEST(TextDrafter, ProposesWhatFollowedTheLongestRepetition) {
  TextDrafter drafter(100);
  std::vector<Token> text{1, 2, 3, 4, 5, 9, 2, 3, 6, 7, 8, 1, 2, 3};
  EXPECT_EQ(proposal(drafter, text, 3), (std::vector<Token>{4, 5, 9}));
  EXPECT_TRUE(proposal(drafter, {1}).empty());
  EXPECT_TRUE(proposal(drafter, {}).empty());
  EXPECT_TRUE(proposal(drafter, {1, 2, 3, 4}).empty());
}

TEST(TextDrafter, GoesOnWithAPeriod) {
  TextDrafter drafter(100);
  EXPECT_EQ(proposal(drafter, {4, 5, 6, 4, 5, 6, 4, 5}, 7),
            (std::vector<Token>{6, 4, 5, 6, 4, 5, 6}));
  TextDrafter other(100);
  EXPECT_EQ(proposal(other, {3, 3, 3, 3}, 5), (std::vector<Token>{3, 3, 3, 3, 3}));
}

TEST(TextDrafter, FollowsATextThatIsCut) {
  TextDrafter drafter(100);
  std::vector<Token> text{1, 2, 3, 8, 8, 1, 2};
  EXPECT_EQ(proposal(drafter, text, 1), (std::vector<Token>{3}));
  text.resize(3);
  EXPECT_TRUE(proposal(drafter, text).empty());
  for (const Token token : {4, 9, 2, 3}) text.push_back(token);
  EXPECT_EQ(proposal(drafter, text, 1), (std::vector<Token>{4}));
  text.back() = 5;  // drawn again
  EXPECT_TRUE(proposal(drafter, text).empty());
}

TEST(PredictionDrafter, FollowsThePredictionAndComesBackToIt) {
  const std::vector<Token> predicted{11, 12, 13, 14, 15, 16, 17, 18};
  PredictionDrafter drafter(std::make_shared<const Prediction>(predicted), 2);
  std::vector<Token> text{1, 2};
  EXPECT_EQ(proposal(drafter, text, 3), (std::vector<Token>{11, 12, 13}));
  text.insert(text.end(), {11, 12});
  EXPECT_EQ(proposal(drafter, text, 2), (std::vector<Token>{13, 14}));
  text.insert(text.end(), {50, 51});  // an edit
  EXPECT_TRUE(proposal(drafter, text).empty());
  text.insert(text.end(), {14, 15});
  EXPECT_EQ(proposal(drafter, text), (std::vector<Token>{16, 17, 18}));
  text.resize(1);
  EXPECT_TRUE(proposal(drafter, text).empty());
}

}  // namespace
}  // namespace tenon
