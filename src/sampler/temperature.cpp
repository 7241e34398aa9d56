// Temperature: flattens (above 1) or sharpens (below 1) what is left.
#include "sampler/stage.h"

namespace tenon {
namespace {

constexpr SamplerParameter kParameters[] = {
    real_parameter("temperature", 0.0, 100.0, 0.8,
                   "Divides the logits; 1 leaves them alone, 0 always takes the likeliest token."),
};

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const double temperature = input.values.real("temperature");
  if (temperature == 1.0) return std::nullopt;
  // Relative to the maximum, so that a tiny temperature overflows to -inf, never to +inf or NaN.
  const double max = candidates.max_logit();
  for (float& logit : candidates.writable_logits()) {
    logit = logit == max ? 0.0f : static_cast<float>((logit - max) / temperature);
  }
  return std::nullopt;
}

}  // namespace

extern constexpr SamplerStage kTemperatureStage{"temperature", kParameters, apply};

}  // namespace tenon
