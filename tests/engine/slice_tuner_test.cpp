// Prompt tokens beside decodes: first guess, estimates, limits.
#include "engine/slice_tuner.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon {
namespace {

constexpr double kStretch = 1.5;
constexpr uint32_t kStepTokens = 256;

struct Observed {
  uint32_t decode_tokens;
  uint32_t prompt_tokens;
  uint64_t ns;
};

struct Case {
  const char* what;
  std::vector<Observed> steps;
  uint32_t beside_tokens;
};

constexpr Observed kDecode{4, 0, 1000};
/// 10 ns per token: the stretch allows half a decode's time, 50 tokens.
constexpr Observed kPromptStep{0, 100, 1000};

TEST(SliceTuner, FollowsTheTimesOfSteps) {
  const Case cases[] = {
      {"nothing is known", {}, 16},
      {"of decodes alone", {kDecode}, 16},
      {"of prompts alone", {kPromptStep}, 16},
      {"decodes, then a prompt", {kDecode, kPromptStep}, 50},
      {"a prompt, then decodes", {kPromptStep, kDecode}, 50},
      {"empty steps tell nothing", {kDecode, kPromptStep, {0, 0, 9000}}, 50},
      // 1000 + 0.2 * (2000 - 1000)
      {"a fifth of what a decode is longer", {kDecode, kPromptStep, {4, 0, 2000}}, 60},
      {"a fifth of what a decode is shorter", {kDecode, kPromptStep, {4, 0, 500}}, 45},
      {"a fifth twice", {kDecode, kPromptStep, {4, 0, 2000}, {4, 0, 2000}}, 68},
      // 10 + 0.2 * (20 - 10) ns
      {"a fifth of what a prompt is slower", {kDecode, kPromptStep, {0, 100, 2000}}, 41},
      {"the cost beside decodes alone", {kDecode, {4, 20, 1400}}, 25},
      {"a fifth of that cost", {kDecode, kPromptStep, {4, 20, 1400}}, 41},
      {"no cost beside decodes of unknown time", {{4, 20, 1400}, kDecode}, 16},
      {"no cost in a step shorter than its decodes", {kDecode, kPromptStep, {4, 20, 900}}, 50},
      {"31 tokens of a prompt are too few", {kDecode, {0, 31, 310}}, 16},
      {"32 are enough", {kDecode, {0, 32, 320}}, 50},
      {"never fewer than 4", {kDecode, {0, 32, 32'000'000}}, 4},
      {"never more than a step holds", {kDecode, {0, 1000, 1000}}, kStepTokens},
      {"nor where the time is next to nothing",
       {{4, 0, 1'000'000'000'000}, {0, 1000, 1}},
       kStepTokens},
  };
  for (const Case& of : cases) {
    SliceTuner tuner(kStretch, kStepTokens);
    for (const Observed& step : of.steps) {
      tuner.observe(step.decode_tokens, step.prompt_tokens, step.ns);
    }
    EXPECT_EQ(tuner.beside_tokens(), of.beside_tokens) << of.what;
  }
}

TEST(SliceTuner, KeepsStepsWithinTheLongestStall) {
  const auto beside_tokens = [](uint64_t max_stall_ns) {
    SliceTuner tuner(kStretch, kStepTokens, max_stall_ns);
    tuner.observe(kDecode.decode_tokens, kDecode.prompt_tokens, kDecode.ns);
    tuner.observe(kPromptStep.decode_tokens, kPromptStep.prompt_tokens, kPromptStep.ns);
    return tuner.beside_tokens();
  };
  EXPECT_EQ(beside_tokens(1300), 30u);
  EXPECT_EQ(beside_tokens(5000), 50u) << "the stretch is less";
  EXPECT_EQ(beside_tokens(900), 4u) << "prompts go on";
}

TEST(SliceTuner, StaysWithinSmallSteps) {
  SliceTuner tuner(kStretch, 3);
  EXPECT_EQ(tuner.beside_tokens(), 3u);
  tuner.observe(1, 0, 1000);
  tuner.observe(0, 32, 32'000'000);
  EXPECT_EQ(tuner.beside_tokens(), 3u);
}

TEST(SliceTuner, LetsStepsStretchAsFarAsItIsTold) {
  SliceTuner tuner(3, kStepTokens);
  tuner.observe(4, 0, 1000);
  tuner.observe(0, 100, 1000);
  EXPECT_EQ(tuner.beside_tokens(), 200u);
}

}  // namespace
}  // namespace tenon
