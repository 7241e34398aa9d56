// Log-probabilities of the tokens of a generation, kept until they are asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "sampler/logprobs.h"
#include "text/vocabulary.h"

namespace tenon {

/// note() comes from the thread that draws, the rest from who has the engine's lock.
class DrawnLogprobs {
 public:
  /// Throws Argument when num_top is more than vocab or kMaxTop.
  DrawnLogprobs(bool wanted, uint32_t num_top, uint64_t vocab)
      : wanted_(wanted || num_top > 0), num_top_(num_top), tops_(num_top), top_logprobs_(num_top) {
    const uint64_t most = std::min<uint64_t>(vocab, kMaxTop);
    if (num_top > most) fail(Code::Argument, "num_top is {}, not in 0..{}", num_top, most);
  }
  static constexpr uint32_t kMaxTop = 1000;

  void reserve(uint64_t num_tokens) {
    if (!wanted_) return;
    kept_.reserve(num_tokens);
    kept_tops_.reserve(num_tokens * num_top_);
    kept_top_logprobs_.reserve(num_tokens * num_top_);
  }

  /// `token` was drawn from logits [vocab].
  void note(std::span<const float> logits, Token token) {
    if (wanted_) logprobs_of(logits, {&token, 1}, {&logprob_, 1}, tops_, top_logprobs_);
  }
  /// The token noted is the next one.
  void keep() {
    if (!wanted_) return;
    kept_.push_back(logprob_);
    kept_tops_.insert(kept_tops_.end(), tops_.begin(), tops_.end());
    kept_top_logprobs_.insert(kept_top_logprobs_.end(), top_logprobs_.begin(), top_logprobs_.end());
  }

  /// The tokens from number `index` on were taken back.
  void take_back(uint64_t index) {
    if (!wanted_) return;
    kept_.resize(index);
    kept_tops_.resize(index * num_top_);
    kept_top_logprobs_.resize(index * num_top_);
  }

  /// Those of token number `index`; top_tokens and top_logprobs [at most num_top]. Throws State
  /// when they were not asked for, Argument for more than were.
  void get(uint64_t index, float& logprob, std::span<Token> top_tokens,
           std::span<float> top_logprobs) const {
    if (!wanted_) fail(Code::State, "request: submitted without log-probabilities");
    if (top_tokens.size() > num_top_) {
      fail(Code::Argument, "request: the {} likeliest tokens, {} were asked for at submit",
           top_tokens.size(), num_top_);
    }
    logprob = kept_[index];
    const auto first = static_cast<ptrdiff_t>(index * num_top_);
    std::copy_n(kept_tops_.begin() + first, top_tokens.size(), top_tokens.begin());
    std::copy_n(kept_top_logprobs_.begin() + first, top_logprobs.size(), top_logprobs.begin());
  }

 private:
  bool wanted_;
  uint32_t num_top_;
  float logprob_ = 0;
  std::vector<Token> tops_;  // [num_top]
  std::vector<float> top_logprobs_;
  std::vector<float> kept_;       // [tokens]
  std::vector<Token> kept_tops_;  // [tokens, num_top]
  std::vector<float> kept_top_logprobs_;
};

}  // namespace tenon
