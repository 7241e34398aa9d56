// Greedy: at temperature 0, chooses the likeliest token and ends the chain.
#include "sampler/stage.h"

namespace tenon {
namespace greedy_stage {
namespace {

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  if (input.values.real("temperature") != 0.0) return std::nullopt;
  const size_t best = candidates.argmax();
  candidates.leave_after(best);
  return candidates.id(best);
}

SamplerReach reach(const SamplerInput& input) {
  if (input.values.real("temperature") != 0.0) return {SamplerReach::Kind::Nothing};
  return {SamplerReach::Kind::First, 1};
}

}  // namespace
}  // namespace greedy_stage

extern constexpr SamplerStage kGreedyStage{
    "greedy", {}, greedy_stage::apply, always_on_device, greedy_stage::reach};

}  // namespace tenon
