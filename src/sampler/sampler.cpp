// Sampler: biases, and the walk along the chain.
#include "sampler/sampler.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "base/fp_env.h"

namespace tenon {

extern const SamplerStage kGreedyStage;

namespace {

constexpr float kMaxBias = 1000.0f;
constexpr float kNever = -std::numeric_limits<float>::infinity();

bool in_mask(std::span<const uint64_t> mask, size_t token) {
  return token / 64 < mask.size() && (mask[token / 64] >> (token % 64) & 1) != 0;
}

/// True if the mask allows a token that is not forbidden.
bool leaves_any(std::span<const uint64_t> mask, std::span<const int32_t> forbidden) {
  uint64_t count = 0;
  for (const uint64_t word : mask) count += static_cast<uint64_t>(std::popcount(word));
  for (size_t i = 0; i < forbidden.size(); ++i) {
    const auto rest = forbidden.subspan(i + 1);
    const bool again = std::find(rest.begin(), rest.end(), forbidden[i]) != rest.end();
    if (!again && in_mask(mask, static_cast<size_t>(forbidden[i]))) --count;
  }
  return count > 0;
}

/// True if any candidate is unmasked.
bool any_left(const Candidates& candidates) {
  return std::ranges::any_of(candidates.logits(), [](float logit) { return logit != kNever; });
}

/// Sets a grammar's watch for the duration of one draw.
class Watched {
 public:
  Watched(GrammarMatcher* grammar, WorkWatch* watch) : grammar_(grammar) {
    if (grammar_ != nullptr) grammar_->set_watch(watch);
  }
  ~Watched() {
    if (grammar_ != nullptr) grammar_->set_watch(nullptr);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  GrammarMatcher* grammar_;
};

}  // namespace

Sampler::Sampler(std::shared_ptr<System> system)
    : system_(std::move(system)), candidates_(system_) {}

Sampler::Sampler(const Sampler& other)
    : system_(other.system_),
      values_(other.values_),
      drawn_seed_(other.drawn_seed_),
      logit_bias_(other.logit_bias_),
      dry_breakers_(other.dry_breakers_),
      memory_(other.memory_),
      past_(other.past_),
      num_draws_(other.num_draws_),
      num_remembered_(other.num_remembered_),
      candidates_(system_),
      grammar_(other.grammar_ ? std::make_unique<GrammarMatcher>(*other.grammar_) : nullptr) {
  logit_bias_.settle();  // settled here, so that draws of a copy do not allocate
}

void Sampler::note_set(std::string_view name) {
  if (name == "seed") drawn_seed_.reset();
  ++version_;
}

uint64_t Sampler::seed() {
  if (!has_random_seed()) return static_cast<uint64_t>(values_.integer("seed"));
  if (!drawn_seed_) drawn_seed_ = random_number(*system_) % kSeedLimit;
  return *drawn_seed_;
}

void Sampler::renew_seed() {
  if (!has_random_seed()) return;
  drawn_seed_.reset();
  ++version_;
}

void Sampler::take_seed(uint64_t seed) {
  if (!has_random_seed() || drawn_seed_ == seed) return;
  drawn_seed_ = seed;
  ++version_;
}

void Sampler::set_logit_bias(int32_t token, float bias) {
  const bool forbids = bias == kNever;
  if (!forbids && !(bias >= -kMaxBias && bias <= kMaxBias)) {
    fail(Code::Argument, "sampler: logit_bias of token {} is {}, not -inf or in {}..{}", token,
         bias, -kMaxBias, kMaxBias);
  }
  if (token < 0) fail(Code::Argument, "sampler: logit_bias names token {}", token);
  logit_bias_.set(token, bias);
  ++version_;
}

void Sampler::reset() {
  values_ = SamplerValues();
  logit_bias_.clear();
  dry_breakers_.clear();
  forget();
  if (grammar_) grammar_->restart();
}

void Sampler::forget() {
  memory_ = {};
  drawn_seed_.reset();
  num_remembered_ = 0;
  ++version_;
}

void Sampler::set_grammar(std::unique_ptr<GrammarMatcher> matcher) {
  grammar_ = std::move(matcher);
  num_remembered_ = 0;
  ++version_;
}

void Sampler::set_token_limit(uint64_t tokens) {
  if (grammar_ == nullptr) return;
  grammar_->set_token_limit(tokens);
  ++version_;
}

void Sampler::remember(const SamplerMemory& before) noexcept {
  past_[num_draws_++ % kHistory] = before;
  num_remembered_ = std::min(num_remembered_ + 1, kHistory);
  ++version_;
}

void Sampler::roll_back(size_t num_draws) {
  if (num_draws > num_remembered_) {
    fail(Code::Argument, "sampler: cannot take back {} draws, {} are remembered", num_draws,
         num_remembered_);
  }
  if (num_draws == 0) return;
  if (grammar_) grammar_->roll_back(num_draws);
  num_draws_ -= num_draws;
  num_remembered_ -= num_draws;
  memory_ = past_[num_draws_ % kHistory];
  ++version_;
}

void Sampler::draw_again(int32_t token, const SamplerMemory& memory) {
  if (grammar_) grammar_->accept(token);
  remember(memory_);
  memory_ = memory;
}

void Sampler::add_dry_breakers(std::span<const int32_t> tokens) {
  if (tokens.empty()) return;
  if (tokens.front() < 0)
    fail(Code::Argument, "sampler: a DRY breaker is token {}", tokens.front());
  std::vector<int32_t> all;
  std::ranges::set_union(dry_breakers_, tokens, std::back_inserter(all));
  if (all.size() > kMaxDryBreakers) {
    fail(Code::Argument, "sampler: more than {} DRY breakers", kMaxDryBreakers);
  }
  dry_breakers_ = std::move(all);
  ++version_;
}

template <typename Logits>
std::optional<int32_t> Sampler::run_chain(const Logits& logits, const SamplerInput& input,
                                          std::span<const uint64_t> mask) {
  candidates_.assign(logits);
  if (!mask.empty()) {
    const std::span<float> own = candidates_.writable_logits();
    for (size_t i = 0; i < own.size(); ++i) {
      if (!in_mask(mask, static_cast<size_t>(candidates_.id(i)))) own[i] = kNever;
    }
  }
  for (const SamplerStage* stage : sampler_chain()) {
    bool ends_partial = false;
    if (candidates_.is_partial()) {
      const SamplerReach::Kind reach = stage->reach(input).kind;
      if (reach == SamplerReach::Kind::Nothing) continue;
      ends_partial = reach == SamplerReach::Kind::First;
      const bool is_enough =
          reach == SamplerReach::Kind::Some || (ends_partial && any_left(candidates_));
      if (!is_enough) return std::nullopt;
    }
    const auto token = stage->apply(candidates_, input);
    if (ends_partial && candidates_.is_partial()) return std::nullopt;
    if (token) return token;
  }
  fail(Code::Internal, "sampler: the chain ended without a token");
}

template <typename Logits>
std::optional<int32_t> Sampler::sample_within_grammar(const Logits& logits, SamplerInput input) {
  // Most likely tokens are usually allowed, so build a mask only if the first is refused. The
  // second draw needs a random number of its own, since the first number is known to hit a refused
  // token.
  constexpr uint64_t kSecondDraw = uint64_t{1} << 63, kThirdDraw = uint64_t{1} << 62;
  constexpr bool kIsListed = std::is_same_v<Logits, ListedLogits>;
  const uint64_t position = input.position;
  const SamplerMemory before = memory_;
  const std::span<const int32_t> forbidden = input.forbidden;
  if (kIsListed) input.forbidden = {};  // the list omits them already
  std::optional<int32_t> token = run_chain(logits, input, {});
  for (const bool exact : {false, true}) {
    if (!token || grammar_->allows(*token)) break;
    memory_ = before;
    const std::span<const uint64_t> mask = grammar_->mask(exact);
    // If the text can only end here, it ends, even if the caller forbids that token.
    if (!leaves_any(mask, forbidden)) {
      if (kIsListed) return std::nullopt;
      input.forbidden = {};
    }
    input.position = position | (exact ? kThirdDraw : kSecondDraw);
    token = run_chain(logits, input, mask);
  }
  if (token) grammar_->accept(*token);
  return token;
}

template <typename Logits>
std::optional<int32_t> Sampler::sample_from(const Logits& logits, SamplerInput input,
                                            WorkWatch* watch) {
  if (const std::optional<int32_t> token = forced(input.forbidden, watch)) return token;
  const Watched watched(grammar_.get(), watch);
  const ScopedFpEnv environment;
  const SamplerMemory before = memory_;
  try {
    std::optional<int32_t> token;
    if (grammar_ != nullptr) {
      token = sample_within_grammar(logits, input);
    } else {
      if (std::is_same_v<Logits, ListedLogits>) input.forbidden = {};
      token = run_chain(logits, input, {});
    }
    if (token) {
      remember(before);
    } else {
      memory_ = before;
    }
    return token;
  } catch (...) {
    memory_ = before;
    throw;
  }
}

/// False for a biased or forbidden token: it is drawn instead of forced, so that another spelling
/// can take its place.
bool Sampler::is_free(int32_t token, std::span<const int32_t> forbidden) const {
  return !logit_bias_.has(token) && std::ranges::find(forbidden, token) == forbidden.end();
}

std::optional<int32_t> Sampler::forced(std::span<const int32_t> forbidden, WorkWatch* watch) {
  if (grammar_ == nullptr) return std::nullopt;
  const Watched watched(grammar_.get(), watch);
  const std::optional<int32_t> token = grammar_->forced_token();
  if (!token) return std::nullopt;
  if (!is_free(*token, forbidden)) {
    grammar_->drop_forced();
    return std::nullopt;
  }
  grammar_->accept(*token);
  remember(memory_);
  return token;
}

std::span<const int32_t> Sampler::forced_ahead(std::span<const int32_t> forbidden,
                                               WorkWatch* watch) {
  if (grammar_ == nullptr) return {};
  const Watched watched(grammar_.get(), watch);
  const std::span<const int32_t> ahead = grammar_->forced_ahead();
  size_t count = 0;
  while (count < ahead.size() && is_free(ahead[ahead.size() - 1 - count], forbidden)) ++count;
  return ahead.last(count);
}

void Sampler::prepare_mask(WorkWatch* watch) {
  if (grammar_ == nullptr) return;
  const Watched watched(grammar_.get(), watch);
  (void)grammar_->mask(false);
}

bool Sampler::describe_biases(tenon_draw& draw, std::vector<tenon_draw_bias>& biases,
                              std::span<const int32_t> forbidden, uint64_t vocab) {
  logit_bias_.settle();
  const auto first = static_cast<ptrdiff_t>(biases.size());
  for (const auto& [token, bias] : logit_bias_.settled()) {
    if (token < 0 || static_cast<uint64_t>(token) >= vocab) return false;
    biases.push_back({token, bias});
  }
  for (const int32_t token : forbidden) {
    if (token < 0 || static_cast<uint64_t>(token) >= vocab) continue;
    const auto found =
        std::find_if(biases.begin() + first, biases.end(),
                     [token](const tenon_draw_bias& bias) { return bias.token == token; });
    if (found != biases.end()) {
      found->bias = kNever;
    } else {
      biases.push_back({token, kNever});
    }
  }
  draw.num_biases = static_cast<uint32_t>(biases.end() - biases.begin() - first);
  return true;
}

bool Sampler::describe_draw(tenon_draw& draw, std::vector<tenon_draw_bias>& biases,
                            uint64_t position, std::span<const int32_t> forbidden, uint64_t vocab) {
  const bool is_greedy = values_.real("temperature") == 0.0;
  for (const SamplerStage* stage : sampler_chain()) {
    if (!stage->is_on_device(values_)) return false;
    if (is_greedy && stage == &kGreedyStage) break;  // later samplers are not used
  }
  if (!describe_biases(draw, biases, forbidden, vocab)) return false;
  draw.kind = is_greedy ? TENON_DRAW_GREEDY : TENON_DRAW_DRAWN;
  draw.temperature = values_.real("temperature");
  draw.top_k = static_cast<uint32_t>(values_.integer("top_k"));
  draw.top_p = values_.real("top_p");
  draw.min_p = values_.real("min_p");
  draw.seed = seed();
  draw.position = position;
  return true;
}

bool Sampler::describe_candidates(tenon_draw& draw, std::vector<tenon_draw_bias>& biases,
                                  std::span<const int32_t> history,
                                  std::span<const int32_t> forbidden, uint64_t vocab) {
  // The device adds the biases before choosing, so no stage here raises a logit.
  const SamplerInput input{values_, {}, history, 0, dry_breakers_, &memory_};
  uint64_t num_lowered = 0;
  for (const SamplerStage* stage : sampler_chain()) {
    const SamplerReach reach = stage->reach(input);
    if (reach.kind == SamplerReach::Kind::All) return false;
    if (reach.kind == SamplerReach::Kind::Some) num_lowered += reach.count;
    if (reach.kind != SamplerReach::Kind::First) continue;
    const bool is_known = reach.count != SamplerReach::kUnknown;
    if (is_known && (reach.count > kMostCandidates || reach.count >= vocab)) return false;
    // Listing as many more is always enough. A mask may drop any number of tokens.
    const bool any_number = !is_known || grammar_ != nullptr;
    const uint64_t wanted = any_number ? kMostCandidates : reach.count + num_lowered;
    draw.kind = TENON_DRAW_CANDIDATES;
    draw.num_candidates =
        static_cast<uint32_t>(std::min({wanted, vocab, uint64_t{kMostCandidates}}));
    return describe_biases(draw, biases, forbidden, vocab);
  }
  return false;
}

std::optional<int32_t> Sampler::take_drawn(int32_t token, std::span<const int32_t> forbidden,
                                           WorkWatch* watch) {
  if (const std::optional<int32_t> other = forced(forbidden, watch)) return other;
  if (grammar_ != nullptr) {
    const Watched watched(grammar_.get(), watch);
    if (!grammar_->allows(token)) return std::nullopt;
    grammar_->accept(token);
  }
  remember(memory_);
  return token;
}

int32_t Sampler::sample(std::span<const float> logits, std::span<const int32_t> history,
                        uint64_t position, std::span<const int32_t> forbidden, WorkWatch* watch) {
  logit_bias_.settle();
  const SamplerInput input{
      values_, logit_bias_.settled(), history, position, dry_breakers_, &memory_, forbidden,
      seed()};
  return *sample_from(logits, input, watch);
}

std::optional<int32_t> Sampler::sample_listed(const ListedLogits& listed,
                                              std::span<const int32_t> history, uint64_t position,
                                              std::span<const int32_t> forbidden,
                                              WorkWatch* watch) {
  const SamplerInput input{values_,       {},       history,   position,
                           dry_breakers_, &memory_, forbidden, seed()};
  return sample_from(listed, input, watch);
}

}  // namespace tenon
