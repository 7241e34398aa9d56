// Repetition, presence and frequency penalties over the last tokens of the sequence.
#include <algorithm>
#include <limits>

#include "sampler/stage.h"

namespace tenon {
namespace penalties_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    real_parameter("repeat_penalty", 0.1, 10.0, 1.0,
                   "Divides the logits above 0 of tokens seen lately and multiplies those below; "
                   "1 disables."),
    integer_parameter(
        "repeat_last_n", -1, 2147483647, 64,
        "Last tokens that the penalties look at; 0: none, which disables them; -1: all."),
    real_parameter("presence_penalty", -10.0, 10.0, 0.0,
                   "Subtracted from the logit of each token seen lately; 0 disables."),
    real_parameter("frequency_penalty", -10.0, 10.0, 0.0,
                   "Subtracted from the logit of a token for each time it was seen lately; 0 "
                   "disables."),
};

/// Repetition as in CTRL (Keskar et al. 2019, section 4.1), which divides by the penalty; logits
/// below 0 are multiplied so that the penalty always lowers. Presence and frequency are additive.
float penalise(float logit, uint32_t count, float repeat, float presence, float frequency) {
  const float scaled = logit > 0.0f ? logit / repeat : logit * repeat;
  const float penalised = scaled - presence - static_cast<float>(count) * frequency;
  return std::min(penalised, std::numeric_limits<float>::max());  // a bonus must not overflow
}

/// The tokens to which the penalties apply.
std::span<const int32_t> recent_tokens(const SamplerInput& input) {
  const int64_t last_n = input.values.integer("repeat_last_n");
  if (last_n < 0) return input.history;
  return input.history.last(std::min(input.history.size(), static_cast<size_t>(last_n)));
}

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const auto repeat = static_cast<float>(input.values.real("repeat_penalty"));
  const auto presence = static_cast<float>(input.values.real("presence_penalty"));
  const auto frequency = static_cast<float>(input.values.real("frequency_penalty"));
  const bool idle = repeat == 1.0f && presence == 0.0f && frequency == 0.0f;
  const std::span<const int32_t> recent = recent_tokens(input);
  if (idle || recent.empty()) return std::nullopt;

  const std::span<float> logits = candidates.writable_logits();
  const std::span<uint32_t> counts = candidates.zeroed_counters();
  for (const int32_t token : recent) {
    if (const auto index = candidates.index_of(token)) ++counts[*index];
  }
  for (const int32_t token : recent) {
    const auto index = candidates.index_of(token);
    if (!index || counts[*index] == 0) continue;
    logits[*index] = penalise(logits[*index], counts[*index], repeat, presence, frequency);
    counts[*index] = 0;
  }
  return std::nullopt;
}

bool is_on_device(const SamplerValues& values) {
  return values.real("repeat_penalty") == 1.0 && values.real("presence_penalty") == 0.0 &&
         values.real("frequency_penalty") == 0.0;
}

/// Penalties that raise logits may bring any token to the front.
SamplerReach reach(const SamplerInput& input) {
  if (is_on_device(input.values)) return {SamplerReach::Kind::Nothing};
  const bool lowers = input.values.real("repeat_penalty") >= 1.0 &&
                      input.values.real("presence_penalty") >= 0.0 &&
                      input.values.real("frequency_penalty") >= 0.0;
  if (!lowers) return {SamplerReach::Kind::All};
  return {SamplerReach::Kind::Some, recent_tokens(input).size()};
}

}  // namespace
}  // namespace penalties_stage

extern constexpr SamplerStage kPenaltiesStage{"penalties", penalties_stage::kParameters,
                                              penalties_stage::apply, penalties_stage::is_on_device,
                                              penalties_stage::reach};

}  // namespace tenon
