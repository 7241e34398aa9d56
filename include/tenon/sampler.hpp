// Draws a token from logits, and computes the probabilities of tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tenon/error.hpp>
#include <tenon/grammar.hpp>
#include <tenon/options.hpp>
#include <tenon/tokenizer.hpp>
#include <vector>

namespace tenon {
inline namespace v1 {

/// Draws tokens. Move-only; one thread at a time. tenon.h, section 9, says what a draw depends on.
class Sampler {
 public:
  Sampler() : Sampler(SamplerOptions{}) {}
  explicit Sampler(const SamplerOptions& options) : Sampler(Options(options)) {}
  explicit Sampler(const Options& options) {
    tenon_sampler* raw = nullptr;
    check(tenon_sampler_create(options.get(), &raw));
    handle_.reset(raw);
  }

  void set(const char* name, int64_t value) { check(tenon_sampler_set_int(get(), name, value)); }
  void set(const char* name, double value) { check(tenon_sampler_set_float(get(), name, value)); }
  /// Adds `bias` to a token's logit; -infinity forbids the token, 0 removes the bias.
  void set_bias(Token token, double bias) { check(tenon_sampler_set_bias(get(), token, bias)); }
  /// Ends generation at this token, whose text is not handed out.
  void add_stop_token(Token token) { check(tenon_sampler_add_stop_token(get(), token)); }
  /// Makes repetitions counted by DRY end at tokens whose text holds `text`.
  void add_dry_breaker(const Tokenizer& tokenizer, std::string_view text) {
    check(tenon_sampler_add_dry_breaker(get(), tokenizer.get(), text.data(), text.size()));
  }
  /// Draws only tokens that continue a text of the grammar, from its beginning.
  void set_grammar(const Grammar& grammar, const Tokenizer& tokenizer) {
    check(tenon_sampler_set_grammar(get(), grammar.get(), tokenizer.get()));
    has_grammar_ = true;
  }
  /// Draws only tokens that the answer to a conversation may have. Returns false if any answer may
  /// come. Called by Chat::constrain (chat.hpp).
  bool set_grammar_of(const tenon_chat* chat, std::string_view conversation) {
    int32_t constrained = 0;
    check(
        tenon_chat_constrain(chat, conversation.data(), conversation.size(), get(), &constrained));
    has_grammar_ = constrained != 0;
    return has_grammar_;
  }
  void clear_grammar() {
    check(tenon_sampler_set_grammar(get(), nullptr, nullptr));
    has_grammar_ = false;
  }
  [[nodiscard]] bool has_grammar() const noexcept { return has_grammar_; }
  /// Sets how many tokens may still be drawn: a grammar's text is complete before that, and banned
  /// strings are not looked for beyond it.
  void set_token_limit(uint64_t tokens) { check(tenon_sampler_set_token_limit(get(), tokens)); }
  /// Seed of the draws: the option, or for -1 the seed of the latest answer.
  [[nodiscard]] int64_t seed() const {
    int64_t seed = 0;
    check(tenon_sampler_seed(get(), &seed));
    return seed;
  }
  /// Restores parameters, biases, breakers and stop tokens to their values at creation, and a
  /// grammar to its beginning.
  void reset() { check(tenon_sampler_reset(get())); }

  /// Draws from logits [vocabulary] f32. history: the text so far, for the penalties. position: key
  /// of the random number.
  [[nodiscard]] Token sample(std::span<const float> logits, std::span<const Token> history = {},
                             uint64_t position = 0) {
    Token token = TENON_NO_TOKEN;
    check(tenon_sampler_sample(get(), logits.data(), logits.size(), history.data(), history.size(),
                               position, &token));
    return token;
  }

  /// Takes back the last draws, at most 256, for loops that draw by themselves.
  void roll_back(size_t num_draws) { check(tenon_sampler_roll_back(get(), num_draws)); }

  [[nodiscard]] tenon_sampler* get() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(tenon_sampler* raw) const noexcept { tenon_sampler_destroy(raw); }
  };
  std::unique_ptr<tenon_sampler, Destroy> handle_;
  bool has_grammar_ = false;
};

/// A token and the natural logarithm of its probability.
struct TokenLogprob {
  Token token = TENON_NO_TOKEN;
  float logprob = 0;
};

/// Log-probabilities of `tokens`, in their order, under unmodified logits [vocabulary] f32: from
/// Session::drawn_logits() for a drawn token, from Session::evaluate() for a prompt.
[[nodiscard]] inline std::vector<TokenLogprob> logprobs(std::span<const float> logits,
                                                        std::span<const Token> tokens) {
  std::vector<float> values(tokens.size());
  check(tenon_logprobs(logits.data(), logits.size(), tokens.data(), tokens.size(), values.data(),
                       nullptr, nullptr, 0));
  std::vector<TokenLogprob> result;
  for (size_t i = 0; i < tokens.size(); ++i) result.push_back({tokens[i], values[i]});
  return result;
}

/// Log-probabilities of the `count` likeliest tokens, likeliest first.
[[nodiscard]] inline std::vector<TokenLogprob> top_logprobs(std::span<const float> logits,
                                                            size_t count) {
  std::vector<Token> tokens(count);
  std::vector<float> values(count);
  check(tenon_logprobs(logits.data(), logits.size(), nullptr, 0, nullptr, tokens.data(),
                       values.data(), count));
  std::vector<TokenLogprob> result;
  for (size_t i = 0; i < count; ++i) result.push_back({tokens[i], values[i]});
  return result;
}

}  // namespace v1
}  // namespace tenon
