// Repetition, presence and frequency penalties over the last tokens of the sequence.
#include <algorithm>
#include <limits>

#include "sampler/stage.h"

namespace tenon {
namespace {

constexpr SamplerParameter kParameters[] = {
    real_parameter("repeat_penalty", 0.1, 10.0, 1.0,
                   "Divides the logits above 0 of tokens seen lately and multiplies those below; "
                   "1 disables."),
    integer_parameter("repeat_last_n", -1, 2147483647, 64,
                      "How many of the last tokens the penalties look at; 0 disables them, -1 "
                      "means all."),
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

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const auto repeat = static_cast<float>(input.values.real("repeat_penalty"));
  const auto presence = static_cast<float>(input.values.real("presence_penalty"));
  const auto frequency = static_cast<float>(input.values.real("frequency_penalty"));
  const int64_t last_n = input.values.integer("repeat_last_n");
  const bool idle = repeat == 1.0f && presence == 0.0f && frequency == 0.0f;
  std::span<const int32_t> recent = input.history;
  if (last_n >= 0) recent = recent.last(std::min(recent.size(), static_cast<size_t>(last_n)));
  if (idle || recent.empty()) return std::nullopt;

  const std::span<float> logits = candidates.writable_logits();
  const std::span<uint32_t> counts = candidates.zeroed_counters();
  const auto known = [&logits](int32_t token) {
    return token >= 0 && static_cast<size_t>(token) < logits.size();
  };
  for (const int32_t token : recent) {
    if (known(token)) ++counts[static_cast<size_t>(token)];
  }
  for (const int32_t token : recent) {
    if (!known(token)) continue;
    const auto id = static_cast<size_t>(token);
    if (counts[id] == 0) continue;
    logits[id] = penalise(logits[id], counts[id], repeat, presence, frequency);
    counts[id] = 0;
  }
  return std::nullopt;
}

bool is_on_device(const SamplerValues& values) {
  return values.real("repeat_penalty") == 1.0 && values.real("presence_penalty") == 0.0 &&
         values.real("frequency_penalty") == 0.0;
}

}  // namespace

extern constexpr SamplerStage kPenaltiesStage{"penalties", kParameters, apply, is_on_device};

}  // namespace tenon
