// Log-probabilities of a generation's tokens, kept for the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "sampler/logprobs.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Call note() on the drawing thread, the rest under the engine's lock.
class DrawnLogprobs {
 public:
  /// Requested values: the drawn token, the `num_top` likeliest tokens, and chosen tokens.
  struct Wanted {
    bool of_drawn = false;
    uint32_t num_top = 0;
    std::span<const Token> tokens{};  ///< read by the constructor only
  };
  /// Throws Argument if num_top exceeds the vocabulary or kMaxTop, or a token is outside the
  /// vocabulary.
  DrawnLogprobs(const Wanted& wanted, uint64_t vocab) : DrawnLogprobs(Checked(wanted, vocab)) {}
  static constexpr uint32_t kMaxTop = 1000;

  [[nodiscard]] bool are_wanted() const { return wanted_; }
  void reserve(uint64_t num_tokens) {
    if (!wanted_) return;
    staged_.reserve(logprobs_.size());
    staged_tops_.reserve(num_top_);
    staged_top_logprobs_.reserve(num_top_);
    kept_.reserve(num_tokens * logprobs_.size());
    kept_tops_.reserve(num_tokens * num_top_);
    kept_top_logprobs_.reserve(num_tokens * num_top_);
  }

  /// Notes that `token` was drawn from logits [vocab].
  void note(std::span<const float> logits, Token token) {
    if (!wanted_) return;
    tokens_[0] = token;
    logprobs_of(logits, tokens_, logprobs_, tops_, top_logprobs_);
  }
  /// Sets the noted values aside, to be kept by keep_staged(). On the drawing thread.
  void stage() {
    if (!wanted_) return;
    staged_.insert(staged_.end(), logprobs_.begin(), logprobs_.end());
    staged_tops_.insert(staged_tops_.end(), tops_.begin(), tops_.end());
    staged_top_logprobs_.insert(staged_top_logprobs_.end(), top_logprobs_.begin(),
                                top_logprobs_.end());
  }
  /// Keeps the values set aside as those of the next tokens.
  void keep_staged() {
    if (!wanted_) return;
    kept_.insert(kept_.end(), staged_.begin(), staged_.end());
    kept_tops_.insert(kept_tops_.end(), staged_tops_.begin(), staged_tops_.end());
    kept_top_logprobs_.insert(kept_top_logprobs_.end(), staged_top_logprobs_.begin(),
                              staged_top_logprobs_.end());
    staged_.clear();
    staged_tops_.clear();
    staged_top_logprobs_.clear();
  }
  /// Keeps the noted values as those of the next token.
  void keep() {
    if (!wanted_) return;
    kept_.insert(kept_.end(), logprobs_.begin(), logprobs_.end());
    kept_tops_.insert(kept_tops_.end(), tops_.begin(), tops_.end());
    kept_top_logprobs_.insert(kept_top_logprobs_.end(), top_logprobs_.begin(), top_logprobs_.end());
  }
  /// Drops the values from token `index` on.
  void take_back(uint64_t index) {
    if (!wanted_) return;
    kept_.resize(index * logprobs_.size());
    kept_tops_.resize(index * num_top_);
    kept_top_logprobs_.resize(index * num_top_);
  }

  /// Values of token `index`; top_tokens and top_logprobs [at most num_top]. Throws State if none
  /// were requested, Argument for more than requested.
  void get(uint64_t index, float& logprob, std::span<Token> top_tokens,
           std::span<float> top_logprobs) const {
    check_wanted();
    if (top_tokens.size() > num_top_) {
      fail(Code::Argument, "request: the {} likeliest tokens, {} were asked for at submit",
           top_tokens.size(), num_top_);
    }
    logprob = kept_[index * logprobs_.size()];
    const auto first = static_cast<ptrdiff_t>(index * num_top_);
    std::copy_n(kept_tops_.begin() + first, top_tokens.size(), top_tokens.begin());
    std::copy_n(kept_top_logprobs_.begin() + first, top_logprobs.size(), top_logprobs.begin());
  }
  /// Log-probabilities of the first chosen tokens at token `index`. Throws as get().
  void get_chosen(uint64_t index, std::span<float> logprobs) const {
    check_wanted();
    if (logprobs.size() >= logprobs_.size()) {
      fail(Code::Argument, "request: {} tokens, {} were named at submit", logprobs.size(),
           logprobs_.size() - 1);
    }
    const auto first = static_cast<ptrdiff_t>(index * logprobs_.size() + 1);
    std::copy_n(kept_.begin() + first, logprobs.size(), logprobs.begin());
  }

 private:
  /// A request with checked counts; checked before any allocation.
  struct Checked {
    const Wanted& wanted;
    Checked(const Wanted& unchecked, uint64_t vocab) : wanted(unchecked) {
      const uint64_t most = std::min<uint64_t>(vocab, kMaxTop);
      if (wanted.num_top > most) {
        fail(Code::Argument, "num_top is {}, not in 0..{}", wanted.num_top, most);
      }
      if (wanted.tokens.size() > kMaxTop) {
        fail(Code::Argument, "num_logprob_tokens is {}, not in 0..{}", wanted.tokens.size(),
             kMaxTop);
      }
      for (const Token token : wanted.tokens) {
        if (token >= 0 && static_cast<uint64_t>(token) < vocab) continue;
        fail(Code::Argument, "logprob_tokens: {} is outside the vocabulary of {}", token, vocab);
      }
    }
  };
  explicit DrawnLogprobs(const Checked& checked)
      : wanted_(checked.wanted.of_drawn || checked.wanted.num_top > 0 ||
                !checked.wanted.tokens.empty()),
        num_top_(checked.wanted.num_top),
        tokens_(1),
        logprobs_(1 + checked.wanted.tokens.size()),
        tops_(num_top_),
        top_logprobs_(num_top_) {
    tokens_.insert(tokens_.end(), checked.wanted.tokens.begin(), checked.wanted.tokens.end());
  }

  void check_wanted() const {
    if (!wanted_) fail(Code::State, "request: submitted without log-probabilities");
  }

  bool wanted_;
  uint32_t num_top_;
  std::vector<Token> tokens_;  // the drawn token, then the chosen ones
  std::vector<float> logprobs_;
  std::vector<Token> tops_;  // [num_top]
  std::vector<float> top_logprobs_;
  std::vector<float> staged_;
  std::vector<Token> staged_tops_;
  std::vector<float> staged_top_logprobs_;
  std::vector<float> kept_;       // [tokens drawn, tokens_]
  std::vector<Token> kept_tops_;  // [tokens drawn, num_top]
  std::vector<float> kept_top_logprobs_;
};

}  // namespace tenon
