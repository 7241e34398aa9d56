// Top-n-sigma: keeps the tokens whose logits are within n standard deviations of the largest.
#include <cmath>
#include <limits>

#include "sampler/stage.h"

namespace tenon {
namespace top_n_sigma_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    real_parameter("top_n_sigma", 0.0, 100.0, 0.0,
                   "Keeps tokens whose logits are within this many standard deviations of the "
                   "largest; 0 disables."),
};

/// Tang et al. 2024, "Top-n-sigma: Not All Logits Are You Need", algorithm 1. Ignores masked
/// tokens.
std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const double n = input.values.real("top_n_sigma");
  if (n == 0.0) return std::nullopt;
  constexpr float kMaskedLogit = -std::numeric_limits<float>::infinity();
  const double max = candidates.max_logit();
  const std::span<const float> logits = candidates.logits();
  double sum = 0.0;
  size_t count = 0;
  for (const float logit : logits) {
    if (logit == kMaskedLogit) continue;
    sum += logit - max;
    ++count;
  }
  const double mean = sum / static_cast<double>(count);
  double squares = 0.0;
  for (const float logit : logits) {
    if (logit == kMaskedLogit) continue;
    const double deviation = logit - max - mean;
    squares += deviation * deviation;
  }
  const double threshold = -n * std::sqrt(squares / static_cast<double>(count));
  candidates.keep_if([logits, max, threshold](size_t i) { return logits[i] - max >= threshold; });
  return std::nullopt;
}

bool is_on_device(const SamplerValues& values) { return values.real("top_n_sigma") == 0.0; }

}  // namespace
}  // namespace top_n_sigma_stage

extern constexpr SamplerStage kTopNSigmaStage{
    "top_n_sigma", top_n_sigma_stage::kParameters, top_n_sigma_stage::apply,
    top_n_sigma_stage::is_on_device, all_unless<top_n_sigma_stage::is_on_device>};

}  // namespace tenon
