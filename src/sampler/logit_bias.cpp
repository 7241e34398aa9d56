// Logit bias: adds the host's number to the logits of named tokens, and forbids some for one draw.
#include <limits>

#include "base/error.h"
#include "sampler/stage.h"

namespace tenon {
namespace logit_bias_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    integer_parameter(
        "min_tokens", 0, 2147483647, 0,
        "Nothing ends a generation before so many tokens: neither end tokens nor stop "
        "tokens nor stop texts."),
};

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  if (input.logit_bias.empty() && input.forbidden.empty()) return std::nullopt;
  const std::span<float> logits = candidates.writable_logits();
  for (const auto& [token, bias] : input.logit_bias) {
    if (token < 0 || static_cast<size_t>(token) >= logits.size()) {
      fail(Code::Argument, "sampler: logit_bias names token {}, the vocabulary has 0..{}", token,
           logits.size() - 1);
    }
    logits[static_cast<size_t>(token)] += bias;
  }
  for (const int32_t token : input.forbidden) {
    if (token < 0 || static_cast<size_t>(token) >= logits.size()) continue;
    logits[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
  }
  return std::nullopt;
}

/// A bias may raise any logit.
SamplerReach reach(const SamplerInput& input) {
  const bool is_idle = input.logit_bias.empty() && input.forbidden.empty();
  return {is_idle ? SamplerReach::Kind::Nothing : SamplerReach::Kind::All};
}

}  // namespace
}  // namespace logit_bias_stage

extern constexpr SamplerStage kLogitBiasStage{"logit_bias", logit_bias_stage::kParameters,
                                              logit_bias_stage::apply, always_on_device,
                                              logit_bias_stage::reach};

}  // namespace tenon
