// Min-p: keeps the tokens that are at least p times as likely as the likeliest one.
#include <cmath>

#include "sampler/stage.h"

namespace tenon {
namespace min_p_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    real_parameter("min_p", 0.0, 1.0, 0.05,
                   "Keeps the tokens at least this many times as likely as the likeliest; 0 "
                   "disables."),
};

/// Nguyen et al. 2024, "Turning Up the Heat: Min-p Sampling". In logits: l >= max + log(p).
std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const double p = input.values.real("min_p");
  if (p <= 0.0) return std::nullopt;
  const double limit = candidates.max_logit() + std::log(p);
  candidates.leave_below(limit);
  const std::span<const float> logits = candidates.logits();
  candidates.keep_if([logits, limit](size_t i) { return logits[i] >= limit; });
  return std::nullopt;
}

SamplerReach reach(const SamplerInput& input) {
  if (input.values.real("min_p") <= 0.0) return {SamplerReach::Kind::Nothing};
  return {SamplerReach::Kind::First, SamplerReach::kUnknown};
}

}  // namespace
}  // namespace min_p_stage

extern constexpr SamplerStage kMinPStage{"min_p", min_p_stage::kParameters, min_p_stage::apply,
                                         always_on_device, min_p_stage::reach};

}  // namespace tenon
