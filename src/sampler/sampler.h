// A sampler: parameters, logit bias and the chain that turns logits into a token. The samplers of
// the chain stand in files of their own; grammars and stop rules live elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "sampler/bias_table.h"
#include "sampler/candidates.h"
#include "sampler/stage.h"
#include "tenon/backend.h"
#include "text/grammar/matcher.h"

namespace tenon {

/// One thread at a time. Mirostat and adaptive-p steer by what they drew before, and a grammar
/// knows how far its text is; without them nothing is kept from one draw to the next, and a token
/// depends on the arguments of `sample`, the parameters, the bias and the breakers only.
class Sampler {
 public:
  /// A sampler with every parameter at its initial value.
  explicit Sampler(std::shared_ptr<System> system = System::real());
  /// The same parameters, bias, breakers and memory of earlier draws, from here on its own.
  Sampler(const Sampler& other);
  Sampler& operator=(const Sampler&) = delete;

  /// Sets a parameter by name. Throws Argument naming parameter, value and range (NaN is in none),
  /// or, for an unknown name, the nearest one.
  void set(std::string_view name, int64_t value) {
    values_.set(name, value);
    note_set(name);
  }
  void set(std::string_view name, double value) {
    values_.set(name, value);
    note_set(name);
  }
  [[nodiscard]] const SamplerValues& values() const { return values_; }

  /// Seed of all samplers of the chain: the parameter "seed". For kRandomSeed, drawn when first
  /// needed and kept for the generation; copies share it.
  uint64_t seed();
  [[nodiscard]] bool has_random_seed() const { return values_.integer("seed") == kRandomSeed; }
  /// Starts a new generation: a random seed is drawn again.
  void renew_seed();
  /// Continues the generation with this seed, if the seed is random.
  void take_seed(uint64_t seed);
  /// Bound of random seeds, so that a double holds them and seeds counted up from them.
  static constexpr uint64_t kSeedLimit = uint64_t{1} << 52;

  /// Adds `bias` to the logit of `token` from now on, in place of an earlier bias; 0 removes it.
  /// Throws Argument for a negative token, for a bias that is neither -inf (never this token) nor
  /// in -1000..1000, and for more than BiasTable::kMaxTokens tokens. A token that the vocabulary
  /// lacks is refused by `sample`, which sees the vocabulary first.
  void set_logit_bias(int32_t token, float bias);
  void clear_logit_bias() {
    logit_bias_.clear();
    ++version_;
  }

  /// Repetitions that DRY looks for do not reach across these tokens, which ascend. Throws Argument
  /// for a negative token and for more than kMaxDryBreakers of them.
  void add_dry_breakers(std::span<const int32_t> tokens);
  static constexpr size_t kMaxDryBreakers = size_t{1} << 20;
  void clear_dry_breakers() {
    dry_breakers_.clear();
    ++version_;
  }

  /// Forgets earlier draws.
  void forget();

  /// Back to the state of a new sampler.
  void reset();

  /// From now on only tokens that the matcher allows are drawn; each one that is drawn it takes.
  /// Null: any token.
  void set_grammar(std::unique_ptr<GrammarMatcher> matcher);
  /// Null when there is none.
  [[nodiscard]] const GrammarMatcher* grammar() const { return grammar_.get(); }
  /// With a grammar: at most this many tokens may still come.
  void set_token_limit(uint64_t tokens);

  /// Takes the last draws back: what the next one depends on is as it was before them, but for the
  /// parameters. Throws Argument for more than there were since forget(), reset() or set_grammar(),
  /// and for more than the last kHistory.
  void roll_back(size_t num_draws);
  static constexpr size_t kHistory = GrammarMatcher::kHistory;
  /// What the samplers that steer themselves keep.
  [[nodiscard]] const SamplerMemory& memory() const { return memory_; }
  /// Draws again what was drawn before: `token`, which left `memory`. Throws State when the grammar
  /// does not go on so.
  void draw_again(int32_t token, const SamplerMemory& memory);
  /// Another number after each call that may change what is drawn next.
  [[nodiscard]] uint64_t version() const { return version_; }

  /// The next token where a grammar leaves no choice: known without logits, and taken. Nothing when
  /// it is to be drawn. sample() gives the same token.
  std::optional<int32_t> forced(std::span<const int32_t> forbidden = {},
                                WorkWatch* watch = nullptr);

  /// The next token.
  ///   logits    [vocab] f32, finite, or -inf where a token is masked
  ///   history   [any] the tokens before, oldest first, for the penalties
  ///   position  of the token in its sequence: with the seed the key of the draw
  /// Ties go to the lower id. Throws State for "non-finite logits" (NaN, +inf) and "all tokens
  /// masked"; Argument for a bias of a token that is not in the vocabulary. Allocates only when the
  /// vocabulary is larger than in any call before, and for biases that were set since.
  ///   forbidden  tokens of the vocabulary that may not be drawn this time
  ///   watch      looks at the work of a grammar; what it throws leaves the sampler as it was, as
  ///              does Limit for a grammar that takes too much work (GrammarMatcher)
  int32_t sample(std::span<const float> logits, std::span<const int32_t> history, uint64_t position,
                 std::span<const int32_t> forbidden = {}, WorkWatch* watch = nullptr);

  /// Has the grammar, if there is one, remember what may come next: sample() is then quicker where it
  /// needs that.
  void prepare_mask(WorkWatch* watch);

  // A device that draws: describe_draw(), its draw, and take_drawn() instead of sample().

  /// What sample() draws, but for a grammar, as a device is told; false where it needs a sampler that
  /// devices do not have, or names tokens outside a vocabulary of `vocab`.
  ///   biases  those of the draw are added at the end; draw.biases is the caller's to set
  bool describe_draw(tenon_draw& draw, std::vector<tenon_draw_bias>& biases, uint64_t position,
                     std::span<const int32_t> forbidden, uint64_t vocab);
  /// What a device is to list (kind CANDIDATES) so that sample_listed() can tell the next token, with the
  /// biases in it; false where the chain looks further than devices list, at all logits, or may raise
  /// some. Arguments as of sample() and describe_draw().
  bool describe_candidates(tenon_draw& draw, std::vector<tenon_draw_bias>& biases,
                           std::span<const int32_t> history, std::span<const int32_t> forbidden,
                           uint64_t vocab);
  static constexpr uint32_t kMostCandidates = 1024;  ///< of a draw (tenon_draw.num_candidates)
  /// The token that sample() would draw from the whole row, bit for bit; nothing where what is listed
  /// cannot tell, and the sampler is as before.
  ///   listed  as described by describe_candidates() with the same arguments
  std::optional<int32_t> sample_listed(const ListedLogits& listed, std::span<const int32_t> history,
                                       uint64_t position, std::span<const int32_t> forbidden = {},
                                       WorkWatch* watch = nullptr);
  /// Takes the token that a device drew as described, or the one that a grammar forces instead; nothing
  /// when the grammar refuses it: sample() then draws another.
  std::optional<int32_t> take_drawn(int32_t token, std::span<const int32_t> forbidden,
                                    WorkWatch* watch);

 private:
  // Logits: a row, or ListedLogits; nothing where these do not reach far enough.
  template <typename Logits>
  std::optional<int32_t> sample_from(const Logits& logits, SamplerInput input, WorkWatch* watch);
  template <typename Logits>
  std::optional<int32_t> run_chain(const Logits& logits, const SamplerInput& input,
                                   std::span<const uint64_t> mask);
  template <typename Logits>
  std::optional<int32_t> sample_within_grammar(const Logits& logits, SamplerInput input);
  bool describe_biases(tenon_draw& draw, std::vector<tenon_draw_bias>& biases,
                       std::span<const int32_t> forbidden, uint64_t vocab);
  void remember(const SamplerMemory& before) noexcept;
  void note_set(std::string_view name);

  std::shared_ptr<System> system_;
  SamplerValues values_;
  std::optional<uint64_t> drawn_seed_;  // seed of the generation, if random
  BiasTable logit_bias_;
  std::vector<int32_t> dry_breakers_;  // sorted
  SamplerMemory memory_;
  std::array<SamplerMemory, kHistory> past_;  // before draw number n: at n % kHistory
  uint64_t num_draws_ = 0;
  size_t num_remembered_ = 0;  // of the last of them
  uint64_t version_ = 0;
  Candidates candidates_;
  std::unique_ptr<GrammarMatcher> grammar_;
};

}  // namespace tenon
