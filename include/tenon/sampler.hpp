// Turns logits into a token.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <tenon/error.hpp>
#include <tenon/grammar.hpp>
#include <tenon/options.hpp>
#include <tenon/tokenizer.hpp>

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
  void clear_grammar() {
    check(tenon_sampler_set_grammar(get(), nullptr, nullptr));
    has_grammar_ = false;
  }
  [[nodiscard]] bool has_grammar() const noexcept { return has_grammar_; }
  /// With a grammar: how many tokens may still be drawn; the text is complete before that.
  void set_token_limit(uint64_t tokens) { check(tenon_sampler_set_token_limit(get(), tokens)); }
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

  [[nodiscard]] tenon_sampler* get() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(tenon_sampler* raw) const noexcept { tenon_sampler_destroy(raw); }
  };
  std::unique_ptr<tenon_sampler, Destroy> handle_;
  bool has_grammar_ = false;
};

}  // namespace v1
}  // namespace tenon
