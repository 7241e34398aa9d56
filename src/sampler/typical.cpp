// Locally typical sampling: keeps the tokens whose surprise is nearest to the expected surprise.
#include <cmath>
#include <numeric>

#include "sampler/mass_cut.h"
#include "sampler/stage.h"

namespace tenon {
namespace typical_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    real_parameter("typical_p", 0.0, 1.0, 1.0,
                   "Keeps the tokens of most typical surprise that together have this "
                   "probability; 1 disables."),
};

/// Meister et al. 2023, "Locally Typical Sampling", equation 7: by | -log p - H |, ascending.
std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const double p = input.values.real("typical_p");
  if (p >= 1.0) return std::nullopt;
  const float max = candidates.max_logit();
  const std::span<const float> weights = candidates.weights();
  const std::span<const float> logits = candidates.logits();
  double total = 0.0;
  double weighted = 0.0;  // sum of w (logit - max)
  for (size_t i = 0; i < weights.size(); ++i) {
    total += weights[i];
    if (weights[i] > 0.0f) weighted += double{weights[i]} * (double{logits[i]} - max);
  }
  // -log p_i - H = (E[logit] - logit_i): the logarithm of the total cancels.
  const double expected = weighted / total + max;
  const auto deviation = [logits, expected](uint32_t i) { return std::abs(logits[i] - expected); };
  const auto before = [&deviation](uint32_t a, uint32_t b) {
    const double deviation_a = deviation(a);
    const double deviation_b = deviation(b);
    return deviation_a != deviation_b ? deviation_a < deviation_b : a < b;
  };
  const std::span<uint32_t> indices = candidates.index_scratch();
  std::iota(indices.begin(), indices.end(), 0u);
  const uint32_t last = last_within_mass(indices, weights, p * total, before);
  candidates.keep_if([before, last](size_t i) { return !before(last, static_cast<uint32_t>(i)); });
  return std::nullopt;
}

bool is_on_device(const SamplerValues& values) { return values.real("typical_p") >= 1.0; }

}  // namespace
}  // namespace typical_stage

extern constexpr SamplerStage kTypicalStage{"typical", typical_stage::kParameters,
                                            typical_stage::apply, typical_stage::is_on_device,
                                            all_unless<typical_stage::is_on_device>};

}  // namespace tenon
