// Top-p (nucleus): keeps the fewest likeliest tokens that together have probability p.
#include "sampler/mass_cut.h"
#include "sampler/stage.h"

namespace tenon {
namespace top_p_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    real_parameter("top_p", 0.0, 1.0, 0.95,
                   "Keeps the fewest likeliest tokens that together have this probability; 1 "
                   "disables."),
};

/// Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1.
std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const double p = input.values.real("top_p");
  if (p >= 1.0) return std::nullopt;
  const std::span<const float> weights = candidates.weights();
  double total = 0.0;
  for (const float weight : weights) total += weight;
  const auto before = [weights](uint32_t a, uint32_t b) {
    return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
  };
  // All tokens below this weight together have less mass than top-p drops, so the cut is among the
  // others: few, if the distribution is peaked.
  const double least = (1.0 - p) * total / static_cast<double>(weights.size());
  const std::span<uint32_t> indices = candidates.index_scratch();
  size_t num_heavy = 0;
  for (uint32_t i = 0; i < weights.size(); ++i) {
    indices[num_heavy] = i;
    num_heavy += weights[i] >= least ? 1 : 0;
  }
  const uint32_t last = last_within_mass(indices.first(num_heavy), weights, p * total, before);
  candidates.keep_if([before, last](size_t i) { return !before(last, static_cast<uint32_t>(i)); });
  return std::nullopt;
}

bool is_idle(const SamplerValues& values) { return values.real("top_p") >= 1.0; }

}  // namespace
}  // namespace top_p_stage

extern constexpr SamplerStage kTopPStage{"top_p", top_p_stage::kParameters, top_p_stage::apply,
                                         always_on_device, all_unless<top_p_stage::is_idle>};

}  // namespace tenon
