// Temperature: flattens (above 1) or sharpens (below 1) the distribution; may depend on the
// entropy.
#include <algorithm>
#include <cmath>

#include "sampler/choose.h"
#include "sampler/stage.h"

namespace tenon {
namespace temperature_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    real_parameter("temperature", 0.0, 100.0, 0.8,
                   "Divides the logits; 1 leaves them alone, 0 always takes the likeliest token."),
    real_parameter(
        "dynatemp_range", 0.0, 100.0, 0.0,
        "Range of the temperature around its value, lowest if the model is sure; 0 disables."),
    real_parameter(
        "dynatemp_exponent", 0.01, 10.0, 1.0,
        "Exponent that maps the entropy, 0 to 1, to the temperature between its bounds."),
};

// Temperature 0 would give no distribution.
constexpr double kLeastTemperature = 1e-6;

/// Entropy of the candidates, relative to the largest possible for their number, in [0, 1].
double relative_entropy(Candidates& candidates) {
  const std::span<const float> weights = candidates.weights();
  const double total = sum_of(weights);
  double entropy = 0.0;
  for (const float weight : weights) {
    if (weight > 0.0f) entropy -= weight / total * std::log(weight / total);
  }
  return std::clamp(entropy / std::log(static_cast<double>(weights.size())), 0.0, 1.0);
}

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  double temperature = input.values.real("temperature");
  const double range = input.values.real("dynatemp_range");
  if (range > 0.0 && candidates.size() > 1) {
    const double low = std::max(temperature - range, 0.0);
    const double high = temperature + range;
    const double power =
        std::pow(relative_entropy(candidates), input.values.real("dynatemp_exponent"));
    temperature = std::max(low + (high - low) * power, kLeastTemperature);
  }
  divide_by_temperature(candidates, temperature);
  return std::nullopt;
}

bool is_on_device(const SamplerValues& values) { return values.real("dynatemp_range") == 0.0; }

}  // namespace
}  // namespace temperature_stage

extern constexpr SamplerStage kTemperatureStage{"temperature", temperature_stage::kParameters,
                                                temperature_stage::apply,
                                                temperature_stage::is_on_device, all_candidates};

}  // namespace tenon
