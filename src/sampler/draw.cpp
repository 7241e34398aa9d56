// The draw: one of the tokens that are left, by their probabilities.
#include <limits>

#include "backends/common/philox.h"
#include "sampler/choose.h"
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
  const auto seed = static_cast<uint64_t>(input.values.integer("seed"));
  const size_t chosen = drawn_candidate(weights, sum_of(weights), uniform_at(seed, input.position));
  return candidates.id(chosen);
}

}  // namespace

extern constexpr SamplerStage kDrawStage{"draw", kParameters, apply, always_on_device,
                                         all_candidates};

}  // namespace tenon
