// Logit bias: adds the host's number to the logits of named tokens.
#include "base/error.h"
#include "sampler/stage.h"

namespace tenon {
namespace {

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  if (input.logit_bias.empty()) return std::nullopt;
  const std::span<float> logits = candidates.writable_logits();
  for (const auto& [token, bias] : input.logit_bias) {
    if (token < 0 || static_cast<size_t>(token) >= logits.size()) {
      fail(Code::Argument, "sampler: logit_bias names token {}, the vocabulary has 0..{}", token,
           logits.size() - 1);
    }
    logits[static_cast<size_t>(token)] += bias;
  }
  return std::nullopt;
}

}  // namespace

extern constexpr SamplerStage kLogitBiasStage{"logit_bias", {}, apply};

}  // namespace tenon
