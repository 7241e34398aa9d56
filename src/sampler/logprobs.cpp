#include "sampler/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace tenon {

void logprobs_of(std::span<const float> logits, std::span<const int32_t> tokens,
                 std::span<float> logprobs, std::span<int32_t> top_tokens,
                 std::span<float> top_logprobs) {
  constexpr float kMaskedLogit = -std::numeric_limits<float>::infinity();
  float max = kMaskedLogit;
  for (const float logit : logits) {
    if (!(logit <= std::numeric_limits<float>::max())) {
      fail(Code::State, "logprobs: non-finite logits");
    }
    max = std::max(max, logit);
  }
  if (max == kMaskedLogit) fail(Code::State, "logprobs: all tokens masked");
  if (top_tokens.size() > logits.size()) {
    fail(Code::Argument, "logprobs: the top {} of {} tokens", top_tokens.size(), logits.size());
  }
  double total = 0.0;
  for (const float logit : logits) total += std::exp(double{logit} - max);
  const double log_total = max + std::log(total);
  const auto logprob = [&](int32_t token) {
    return static_cast<float>(double{logits[static_cast<size_t>(token)]} - log_total);
  };
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<size_t>(token) >= logits.size()) {
      fail(Code::Argument, "logprobs: token {} is outside the vocabulary of {}", token,
           logits.size());
    }
  }
  std::transform(tokens.begin(), tokens.end(), logprobs.begin(), logprob);

  // A heap of the best so far, the worst in front: one comparison refuses nearly every logit.
  const auto before = [&logits](int32_t a, int32_t b) {
    const float left = logits[static_cast<size_t>(a)];
    const float right = logits[static_cast<size_t>(b)];
    return left != right ? left > right : a < b;
  };
  const size_t k = top_tokens.size();
  if (k == 0) return;
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto token = static_cast<int32_t>(i);
    if (i < k) {
      top_tokens[i] = token;
      if (i + 1 == k) std::make_heap(top_tokens.begin(), top_tokens.end(), before);
    } else if (before(token, top_tokens.front())) {
      std::pop_heap(top_tokens.begin(), top_tokens.end(), before);
      top_tokens.back() = token;
      std::push_heap(top_tokens.begin(), top_tokens.end(), before);
    }
  }
  std::sort_heap(top_tokens.begin(), top_tokens.end(), before);
  std::transform(top_tokens.begin(), top_tokens.end(), top_logprobs.begin(), logprob);
}

}  // namespace tenon
