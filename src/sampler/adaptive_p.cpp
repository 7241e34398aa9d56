// Adaptive-p: prefers tokens whose probability is near a target, which adapts to the probabilities
// of drawn tokens. Ends the chain with a draw.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "abi/philox.h"
#include "sampler/choose.h"
#include "sampler/stage.h"

namespace tenon {
namespace adaptive_p_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    real_parameter("adaptive_target", -1.0, 1.0, -1.0,
                   "The probability that drawn tokens shall have on average; below 0 disables."),
    real_parameter("adaptive_decay", 0.0, 0.99, 0.9,
                   "How much each token drawn before counts less than the one after it."),
};

// Shape of the preference, from its author (llama.cpp, pull request 17927): quadratic near the
// target, linear far from it.
constexpr double kWidth = 0.3;
constexpr double kPeak = 5.0;
constexpr double kSharpness = 10.0;

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const double target = input.values.real("adaptive_target");
  if (target < 0.0) return std::nullopt;
  const double decay = input.values.real("adaptive_decay");
  SamplerMemory none;
  SamplerMemory& memory = input.memory != nullptr ? *input.memory : none;
  if (memory.adaptive_weight == 0.0) {
    memory.adaptive_weight = 1.0 / (1.0 - decay);
    memory.adaptive_sum = target * memory.adaptive_weight;
  }
  const double aim =
      std::clamp(2.0 * target - memory.adaptive_sum / memory.adaptive_weight, 0.0, 1.0);

  const std::span<const float> before = candidates.weights();
  const double total_before = sum_of(before);
  const std::span<uint32_t> kept = candidates.index_scratch();  // the weights' bits
  for (size_t i = 0; i < before.size(); ++i) kept[i] = std::bit_cast<uint32_t>(before[i]);
  const std::span<float> logits = candidates.writable_logits();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == -std::numeric_limits<float>::infinity()) continue;
    const double p = std::bit_cast<float>(kept[i]) / total_before;
    const double distance = std::abs(p - aim) / kWidth;
    logits[i] = static_cast<float>(kPeak - kSharpness * distance * distance / (1.0 + distance));
  }
  const std::span<const float> weights = candidates.weights();
  const size_t chosen =
      drawn_candidate(weights, sum_of(weights), uniform_at(input.seed, input.position));
  const double p = std::bit_cast<float>(kept[chosen]) / total_before;
  memory.adaptive_sum = p + decay * memory.adaptive_sum;
  memory.adaptive_weight = 1.0 + decay * memory.adaptive_weight;
  return candidates.id(chosen);
}

bool is_on_device(const SamplerValues& values) { return values.real("adaptive_target") < 0.0; }

}  // namespace
}  // namespace adaptive_p_stage

extern constexpr SamplerStage kAdaptivePStage{
    "adaptive_p", adaptive_p_stage::kParameters, adaptive_p_stage::apply,
    adaptive_p_stage::is_on_device, all_unless<adaptive_p_stage::is_on_device>};

}  // namespace tenon
