// XTC (exclude top choices): now and then drops the likeliest tokens if several are likely.
#include "abi/philox.h"
#include "sampler/choose.h"
#include "sampler/stage.h"

namespace tenon {
namespace xtc_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    real_parameter("xtc_probability", 0.0, 1.0, 0.0,
                   "Probability of excluding the likeliest tokens if several reach xtc_threshold; "
                   "0 disables."),
    real_parameter("xtc_threshold", 0.0, 1.0, 0.1,
                   "Lowest probability of a top choice; above 0.5 disables."),
};

// A random stream separate from that of the draw.
constexpr uint32_t kStream = 1;

/// Follows its author's definition (p-e-w, text-generation-webui, pull request 6335): keeps only
/// the least likely of the tokens at or above the threshold, and all below. For ties, the higher id
/// counts as less likely.
std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const double probability = input.values.real("xtc_probability");
  const double threshold = input.values.real("xtc_threshold");
  if (probability == 0.0 || threshold > 0.5 || candidates.size() < 2) return std::nullopt;
  if (uniform_at(input.seed, input.position, kStream) >= probability) return std::nullopt;
  const std::span<const float> weights = candidates.weights();
  const double least = threshold * sum_of(weights);
  size_t num_top = 0;
  size_t last_top = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] < least) continue;
    if (num_top == 0 || weights[i] <= weights[last_top]) last_top = i;
    ++num_top;
  }
  if (num_top < 2) return std::nullopt;
  candidates.keep_if(
      [weights, least, last_top](size_t i) { return i == last_top || weights[i] < least; });
  return std::nullopt;
}

bool is_on_device(const SamplerValues& values) { return values.real("xtc_probability") == 0.0; }

}  // namespace
}  // namespace xtc_stage

extern constexpr SamplerStage kXtcStage{"xtc", xtc_stage::kParameters, xtc_stage::apply,
                                        xtc_stage::is_on_device,
                                        all_unless<xtc_stage::is_on_device>};

}  // namespace tenon
