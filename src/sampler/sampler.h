// A sampler: parameters, logit bias and the chain that turns logits into a token. The samplers of
// the chain stand in files of their own; grammars and stop rules live elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "sampler/candidates.h"
#include "sampler/stage.h"
#include "text/grammar/matcher.h"

namespace tenon {

/// One thread at a time. Mirostat and adaptive-p steer by what they drew before, and a grammar knows
/// how far its text is; without them nothing is kept from one draw to the next, and a token depends
/// on the arguments of `sample`, the parameters, the bias and the breakers only.
class Sampler {
 public:
  /// A sampler with every parameter at its initial value.
  explicit Sampler(std::shared_ptr<System> system = System::real());
  /// The same parameters, bias, breakers and memory of earlier draws, from here on its own.
  Sampler(const Sampler& other);
  Sampler& operator=(const Sampler&) = delete;

  /// Sets a parameter by name. Throws Argument naming parameter, value and range (NaN is in none),
  /// or, for an unknown name, the nearest one.
  void set(std::string_view name, int64_t value) { values_.set(name, value); }
  void set(std::string_view name, double value) { values_.set(name, value); }
  [[nodiscard]] const SamplerValues& values() const { return values_; }

  /// Adds `bias` to the logit of `token` from now on, in place of an earlier bias; 0 removes it.
  /// Throws Argument for a negative token, for a bias that is neither -inf (never this token) nor
  /// in -1000..1000, and for more than kMaxLogitBias tokens. A token that the vocabulary lacks is
  /// refused by `sample`, which sees the vocabulary first.
  void set_logit_bias(int32_t token, float bias);
  void clear_logit_bias() { logit_bias_.clear(); }
  static constexpr size_t kMaxLogitBias = size_t{1} << 20;

  /// Repetitions that DRY looks for do not reach across this token. Throws Argument for a negative
  /// token and for more than kMaxLogitBias of them.
  void add_dry_breaker(int32_t token);
  void clear_dry_breakers() { dry_breakers_.clear(); }

  /// Forgets earlier draws.
  void forget() { memory_ = {}; }

  /// Back to the state of a new sampler.
  void reset();

  /// From now on only tokens that the matcher allows are drawn; each one that is drawn it takes.
  /// Null: any token.
  void set_grammar(std::unique_ptr<GrammarMatcher> matcher) { grammar_ = std::move(matcher); }
  /// Null when there is none.
  [[nodiscard]] GrammarMatcher* grammar() const { return grammar_.get(); }

  /// The next token where a grammar leaves no choice: known without logits, and taken. Nothing when
  /// it is to be drawn. sample() gives the same token.
  std::optional<int32_t> forced(std::span<const int32_t> forbidden = {});

  /// The next token.
  ///   logits    [vocab] f32, finite, or -inf where a token is masked
  ///   history   [any] the tokens before, oldest first, for the penalties
  ///   position  of the token in its sequence: with the seed the key of the draw
  /// Ties go to the lower id. Throws State for "non-finite logits" (NaN, +inf) and "all tokens
  /// masked"; Argument for a bias of a token that is not in the vocabulary. Allocates only when the
  /// vocabulary is larger than in any call before.
  ///   forbidden  tokens of the vocabulary that may not be drawn this time
  int32_t sample(std::span<const float> logits, std::span<const int32_t> history, uint64_t position,
                 std::span<const int32_t> forbidden = {});

 private:
  int32_t run_chain(std::span<const float> logits, const SamplerInput& input,
                    std::span<const uint64_t> mask);
  int32_t sample_within_grammar(std::span<const float> logits, SamplerInput input);

  std::shared_ptr<System> system_;
  SamplerValues values_;
  std::vector<LogitBias> logit_bias_;  // sorted by token
  std::vector<int32_t> dry_breakers_;  // sorted
  SamplerMemory memory_;
  Candidates candidates_;
  std::unique_ptr<GrammarMatcher> grammar_;
};

}  // namespace tenon
