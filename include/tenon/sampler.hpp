// Turns logits into a token, and into the probabilities of tokens.
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

/// Move-only; one thread at a time. tenon.h, section 9, tells what a draw depends on.
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
  /// Adds `bias` to the logit of a token; -infinity forbids it, 0 takes the bias back.
  void set_bias(Token token, double bias) { check(tenon_sampler_set_bias(get(), token, bias)); }
  /// Generation ends with this token, whose text is not handed out.
  void add_stop_token(Token token) { check(tenon_sampler_add_stop_token(get(), token)); }
  /// Repetitions that DRY looks for end at tokens whose text holds `text`.
  void add_dry_breaker(const Tokenizer& tokenizer, std::string_view text) {
    check(tenon_sampler_add_dry_breaker(get(), tokenizer.get(), text.data(), text.size()));
  }
  /// Draws only tokens that continue a text of the grammar, from its beginning.
  void set_grammar(const Grammar& grammar, const Tokenizer& tokenizer) {
    check(tenon_sampler_set_grammar(get(), grammar.get(), tokenizer.get()));
    has_grammar_ = true;
  }
  /// Draws only what the answer to a conversation may be; false when that is anything. Chat::constrain
  /// (chat.hpp) calls this.
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
  /// How many tokens may still be drawn: a grammar's text is complete before that, and banned
  /// strings are not looked for beyond it.
  void set_token_limit(uint64_t tokens) { check(tenon_sampler_set_token_limit(get(), tokens)); }
  /// Seed of the draws: the option, or for -1 the seed of the latest answer.
  [[nodiscard]] int64_t seed() const {
    int64_t seed = 0;
    check(tenon_sampler_seed(get(), &seed));
    return seed;
  }
  /// Parameters, biases, breakers and stop tokens as they were created; a grammar from its beginning.
  void reset() { check(tenon_sampler_reset(get())); }

  /// Draws from logits [vocabulary] f32. history: the text so far.
  [[nodiscard]] Token sample(std::span<const float> logits, std::span<const Token> history = {},
                             uint64_t position = 0) {
    Token token = TENON_NO_TOKEN;
    check(tenon_sampler_sample(get(), logits.data(), logits.size(), history.data(), history.size(),
                               position, &token));
    return token;
  }

  /// Takes the last draws back, at most 256, for loops that draw by themselves.
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

/// Of chosen tokens, in their order, under logits [vocabulary] f32 as a model left them: from
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

/// Of the `count` likeliest tokens, likeliest first.
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
