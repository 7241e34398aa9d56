// The draw: one of the tokens that are left, by their probabilities.
#include <limits>

#include "sampler/philox.h"
#include "sampler/stage.h"

namespace tenon {
namespace {

constexpr SamplerParameter kParameters[] = {
    integer_parameter("seed", 0, std::numeric_limits<int64_t>::max(), 0,
                      "Key of the random numbers: the same seed, logits and position draw the same "
                      "token."),
};

/// Inverts the cumulative distribution, in order of token id, at a number that depends on the seed
/// and the position alone.
std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const std::span<const float> weights = candidates.weights();
  double total = 0.0;
  for (const float weight : weights) total += weight;
  const auto seed = static_cast<uint64_t>(input.values.integer("seed"));
  const double target = uniform_at(seed, input.position) * total;
  double sum = 0.0;
  size_t chosen = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0.0f) continue;
    chosen = i;
    sum += weights[i];
    if (sum > target) break;
  }
  return candidates.id(chosen);
}

}  // namespace

extern constexpr SamplerStage kDrawStage{"draw", kParameters, apply};

}  // namespace tenon
