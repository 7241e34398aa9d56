// Sampler: bias bookkeeping and the walk along the chain.
#include "sampler/sampler.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/fp_env.h"

namespace tenon {
namespace {

constexpr float kMaxBias = 1000.0f;

}  // namespace

Sampler::Sampler(std::shared_ptr<System> system)
    : system_(std::move(system)), candidates_(system_) {}

Sampler::Sampler(const Sampler& other)
    : system_(other.system_),
      values_(other.values_),
      logit_bias_(other.logit_bias_),
      dry_breakers_(other.dry_breakers_),
      memory_(other.memory_),
      candidates_(system_) {}

void Sampler::set_logit_bias(int32_t token, float bias) {
  const bool forbids = bias == -std::numeric_limits<float>::infinity();
  if (!forbids && !(bias >= -kMaxBias && bias <= kMaxBias)) {
    fail(Code::Argument, "sampler: logit_bias of token {} is {}, not -inf or in {}..{}", token,
         bias, -kMaxBias, kMaxBias);
  }
  if (token < 0) fail(Code::Argument, "sampler: logit_bias names token {}", token);
  const auto at =
      std::lower_bound(logit_bias_.begin(), logit_bias_.end(), token,
                       [](const LogitBias& entry, int32_t id) { return entry.token < id; });
  const bool present = at != logit_bias_.end() && at->token == token;
  if (bias == 0.0f) {
    if (present) logit_bias_.erase(at);
  } else if (present) {
    at->bias = bias;
  } else if (logit_bias_.size() >= kMaxLogitBias) {
    fail(Code::Argument, "sampler: logit_bias for more than {} tokens", kMaxLogitBias);
  } else {
    logit_bias_.insert(at, {token, bias});
  }
}

void Sampler::reset() {
  values_ = SamplerValues();
  logit_bias_.clear();
  dry_breakers_.clear();
  forget();
}

void Sampler::add_dry_breaker(int32_t token) {
  if (token < 0) fail(Code::Argument, "sampler: a DRY breaker is token {}", token);
  const auto at = std::lower_bound(dry_breakers_.begin(), dry_breakers_.end(), token);
  if (at != dry_breakers_.end() && *at == token) return;
  if (dry_breakers_.size() >= kMaxLogitBias) {
    fail(Code::Argument, "sampler: more than {} DRY breakers", kMaxLogitBias);
  }
  dry_breakers_.insert(at, token);
}

int32_t Sampler::sample(std::span<const float> logits, std::span<const int32_t> history,
                        uint64_t position, std::span<const int32_t> forbidden) {
  const ScopedFpEnv environment;
  candidates_.assign(logits);
  const SamplerInput input{values_,       logit_bias_, history,  position,
                           dry_breakers_, &memory_,    forbidden};
  for (const SamplerStage* stage : sampler_chain()) {
    if (const auto token = stage->apply(candidates_, input)) return *token;
  }
  fail(Code::Internal, "sampler: the chain ended without a token");
}

}  // namespace tenon
