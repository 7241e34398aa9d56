// A sampler: parameters, logit bias and the chain from logits to a token. The samplers of the chain
// have files of their own; grammars and stop rules are elsewhere.
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

/// One thread at a time. Mirostat and adaptive-p depend on earlier draws, and a grammar on the text
/// so far. Without these a token depends only on the arguments of `sample`, the parameters, the
/// bias and the breakers.
class Sampler {
 public:
  /// Makes a sampler with initial parameter values.
  explicit Sampler(std::shared_ptr<System> system = System::real());
  /// Copies parameters, bias, breakers and state; the copies are independent.
  Sampler(const Sampler& other);
  Sampler& operator=(const Sampler&) = delete;

  /// Sets a parameter by name. Throws Argument naming parameter, value and range (NaN is in none),
  /// or the nearest name for an unknown name.
  void set(std::string_view name, int64_t value) {
    values_.set(name, value);
    note_set(name);
  }
  void set(std::string_view name, double value) {
    values_.set(name, value);
    note_set(name);
  }
  [[nodiscard]] const SamplerValues& values() const { return values_; }

  /// Seed of all samplers of the chain: the parameter "seed". A random seed (kRandomSeed) is drawn
  /// on first use and kept for the generation; copies share it.
  uint64_t seed();
  [[nodiscard]] bool has_random_seed() const { return values_.integer("seed") == kRandomSeed; }
  /// Starts a new generation with a new random seed.
  void renew_seed();
  /// Continues a generation that has this seed; ignored unless the seed is random.
  void take_seed(uint64_t seed);
  /// Bound of random seeds: a double holds them, and seeds counted up from them.
  static constexpr uint64_t kSeedLimit = uint64_t{1} << 52;

  /// Sets the bias added to the logit of `token`; 0 removes it. Throws Argument for a negative
  /// token, for a bias that is neither -inf (never this token) nor in -1000..1000, and for more
  /// than BiasTable::kMaxTokens tokens. `sample`, which knows the vocabulary, refuses tokens
  /// outside it.
  void set_logit_bias(int32_t token, float bias);
  void clear_logit_bias() {
    logit_bias_.clear();
    ++version_;
  }

  /// Adds tokens, ascending, across which DRY finds no repetition. Throws Argument for a negative
  /// token and for more than kMaxDryBreakers in all.
  void add_dry_breakers(std::span<const int32_t> tokens);
  static constexpr size_t kMaxDryBreakers = size_t{1} << 20;
  void clear_dry_breakers() {
    dry_breakers_.clear();
    ++version_;
  }

  /// Forgets all earlier draws.
  void forget();

  /// Resets everything to the state of a new sampler.
  void reset();

  /// Restricts draws to tokens allowed by the matcher, which accepts each drawn token. Null allows
  /// any token.
  void set_grammar(std::unique_ptr<GrammarMatcher> matcher);
  /// The current matcher; may be null.
  [[nodiscard]] const GrammarMatcher* grammar() const { return grammar_.get(); }
  /// Limits the tokens that a grammar may still generate.
  void set_token_limit(uint64_t tokens);

  /// Undoes the last draws, including their state but not parameters. Throws Argument for more
  /// draws than since forget(), reset() or set_grammar(), or more than kHistory.
  void roll_back(size_t num_draws);
  static constexpr size_t kHistory = GrammarMatcher::kHistory;
  /// State of the samplers that adapt to earlier draws.
  [[nodiscard]] const SamplerMemory& memory() const { return memory_; }
  /// Repeats an earlier draw: accepts `token` and restores `memory`, the state after it. Throws
  /// State if the grammar refuses the token.
  void draw_again(int32_t token, const SamplerMemory& memory);
  /// Changes with each call that may affect the next draw.
  [[nodiscard]] uint64_t version() const { return version_; }

  /// Accepts and returns the next token if a grammar allows only one; needs no logits. Returns
  /// nothing if it must be drawn. sample() gives the same token.
  std::optional<int32_t> forced(std::span<const int32_t> forbidden = {},
                                WorkWatch* watch = nullptr);

  /// Tokens that forced() would give one after another, the next one last, up to the first that is
  /// biased or forbidden; leaves all draws as they are. Valid until the next call.
  [[nodiscard]] std::span<const int32_t> forced_ahead(std::span<const int32_t> forbidden = {},
                                                      WorkWatch* watch = nullptr);

  /// Draws the next token.
  ///   logits     [vocab] f32, finite, or -inf for masked tokens
  ///   history    [any] previous tokens, oldest first, for the penalties
  ///   position   of the token in its sequence; with the seed, the key of the draw
  ///   forbidden  tokens of the vocabulary excluded from this draw
  ///   watch      limits the grammar's work; may be null
  /// Ties go to the lower id. Throws State for "non-finite logits" (NaN, +inf) and "all tokens
  /// masked", Argument for a bias outside the vocabulary, Limit for a grammar with too much work
  /// (GrammarMatcher). After an error of the watch, or Limit, the sampler is unchanged. Allocates
  /// only for a vocabulary larger than any before, and for newly set biases.
  int32_t sample(std::span<const float> logits, std::span<const int32_t> history, uint64_t position,
                 std::span<const int32_t> forbidden = {}, WorkWatch* watch = nullptr);

  /// Precomputes the grammar's token mask for the next sample(). Does nothing without a grammar.
  void prepare_mask(WorkWatch* watch);

  // Drawing on a device: describe_draw(), the device's draw, and take_drawn() instead of sample().

  /// Describes the draw of sample(), without a grammar, for a device. False if the chain has a
  /// sampler that devices lack, or names tokens outside a vocabulary of `vocab`.
  ///   biases  the draw's biases are appended; the caller sets draw.biases
  bool describe_draw(tenon_draw& draw, std::vector<tenon_draw_bias>& biases, uint64_t position,
                     std::span<const int32_t> forbidden, uint64_t vocab);
  /// Describes the candidates (kind CANDIDATES) from which sample_listed() can draw the next token,
  /// biases included. False if the chain needs more logits than devices list, needs all of them, or
  /// may raise some. Arguments as in sample() and describe_draw().
  bool describe_candidates(tenon_draw& draw, std::vector<tenon_draw_bias>& biases,
                           std::span<const int32_t> history, std::span<const int32_t> forbidden,
                           uint64_t vocab);
  static constexpr uint32_t kMostCandidates = 1024;  ///< limit of tenon_draw.num_candidates
  /// Draws the token that sample() would draw from the whole row, bit for bit. Returns nothing, and
  /// leaves the sampler unchanged, if the list does not determine it.
  ///   listed  as described by describe_candidates() with the same arguments
  std::optional<int32_t> sample_listed(const ListedLogits& listed, std::span<const int32_t> history,
                                       uint64_t position, std::span<const int32_t> forbidden = {},
                                       WorkWatch* watch = nullptr);
  /// Accepts the token that a device drew, or the token that a grammar forces instead. Returns
  /// nothing if the grammar refuses it: sample() then draws another.
  std::optional<int32_t> take_drawn(int32_t token, std::span<const int32_t> forbidden,
                                    WorkWatch* watch);

 private:
  // Logits: a row, or ListedLogits; returns nothing if a list is too short.
  template <typename Logits>
  std::optional<int32_t> sample_from(const Logits& logits, SamplerInput input, WorkWatch* watch);
  template <typename Logits>
  std::optional<int32_t> run_chain(const Logits& logits, const SamplerInput& input,
                                   std::span<const uint64_t> mask);
  template <typename Logits>
  std::optional<int32_t> sample_within_grammar(const Logits& logits, SamplerInput input);
  [[nodiscard]] bool is_free(int32_t token, std::span<const int32_t> forbidden) const;
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
  std::array<SamplerMemory, kHistory> past_;  // state before draw n at n % kHistory
  uint64_t num_draws_ = 0;
  size_t num_remembered_ = 0;  // draws that can be undone
  uint64_t version_ = 0;
  Candidates candidates_;
  std::unique_ptr<GrammarMatcher> grammar_;
};

}  // namespace tenon
