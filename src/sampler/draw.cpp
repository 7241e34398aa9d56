// The draw: chooses one of the remaining tokens by probability.
#include <limits>

#include "abi/philox.h"
#include "sampler/choose.h"
#include "sampler/stage.h"

namespace tenon {
namespace draw_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    integer_parameter(
        "seed", kRandomSeed, std::numeric_limits<int64_t>::max(), kRandomSeed,
        "Key of the random numbers: equal seed, logits and position draw the same token; "
        "-1: a new seed for each generation, which can be read back."),
};

/// Inverts the cumulative distribution, in order of token id, at a number that depends only on the
/// seed and the position.
std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const std::span<const float> weights = candidates.weights();
  const size_t chosen =
      drawn_candidate(weights, sum_of(weights), uniform_at(input.seed, input.position));
  return candidates.id(chosen);
}

}  // namespace
}  // namespace draw_stage

extern constexpr SamplerStage kDrawStage{"draw", draw_stage::kParameters, draw_stage::apply,
                                         always_on_device, all_candidates};

}  // namespace tenon
