#include "engine/model_drafter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "engine/speculator.h"

namespace tenon {
namespace {

/// Most tokens of a text that are read at once, so that other texts need not wait long.
constexpr uint64_t kMostRead = 512;

/// Most time of a grammar for one guess.
constexpr uint64_t kMostDrawNs = 2'000'000;

/// Ends a draw that takes long: the text goes on without the guess.
class GuessWatch final : public WorkWatch {
 public:
  explicit GuessWatch(System& system) : system_(system), late_ns_(system.now_ns() + kMostDrawNs) {}
  void look() override {
    if (system_.now_ns() >= late_ns_) fail(Code::Deadline, "draft: a draw takes too long");
  }

 private:
  System& system_;
  uint64_t late_ns_;
};

/// Probability of a token under a row of logits.
float probability_of(std::span<const float> row, Token token) {
  // Terms this far below the largest one add nothing to a claim.
  constexpr float kFar = 12;
  const float most = *std::ranges::max_element(row);
  float sum = 0;
  for (const float value : row) {
    if (value > most - kFar) sum += std::exp(value - most);
  }
  return std::exp(row[static_cast<size_t>(token)] - most) / sum;
}

bool is_forced(const DraftAsk& ask) { return ask.speculator->mode() == Speculation::Forced; }

}  // namespace

// ---- A text -------------------------------------------------------------------------------------

DraftText::DraftText(std::shared_ptr<ModelDrafter> by)
    : by_(std::move(by)),
      logits_(by_->model_->options().system,
              std::max(by_->vocab_, by_->draft_vocab_) * sizeof(float), "logits of a draft") {
  // Tokens that the drafter lacks are never guessed.
  const std::span<float> row = logits();
  std::ranges::fill(row.subspan(std::min<uint64_t>(by_->draft_vocab_, row.size())),
                    -std::numeric_limits<float>::infinity());
}

DraftSource DraftText::source() const { return by_->source_; }

float DraftText::trust() const {
  const std::scoped_lock lock(by_->mutex_);
  return by_->pricer_.trust();
}

void DraftText::note(float claim, bool is_right) {
  const std::scoped_lock lock(by_->mutex_);
  by_->pricer_.observe_guess(claim, is_right);
  by_->stats_.right_tokens += is_right ? 1 : 0;
}

// ---- Planning -----------------------------------------------------------------------------------

ModelDrafter::ModelDrafter(DraftSource source, std::shared_ptr<const Model> model,
                           uint64_t draft_vocab)
    : source_(source),
      model_(std::move(model)),
      vocab_(model_->spec().vocab),
      draft_vocab_(draft_vocab) {}

void ModelDrafter::give_up(DraftText& text, const char* why) noexcept {
  text.has_given_up_ = true;
  try {
    release(text);
  } catch (...) {
    // Its memory is freed with it.
  }
  const std::scoped_lock lock(mutex_);
  ++stats_.given_up;
  why_given_up_ = why;
}

/// Begins drafts of the texts that can be guessed.
void ModelDrafter::begin(std::span<const DraftAsk> asks, std::vector<Draft>& drafts) {
  for (const DraftAsk& ask : asks) {
    DraftText* const text = ask.speculator->draft.get();
    if (ask.room == 0 || text == nullptr || text->has_given_up_) continue;
    float chance = 0;
    {
      const std::scoped_lock lock(mutex_);
      chance = pricer_.chance();
    }
    Draft draft;
    draft.ask = &ask;
    draft.text = text;
    draft.worth.chance = ask.speculator->chance_of_draft(chance);
    draft.worth.most = std::min(ask.room, ask.speculator->most());
    if (!ask.speculator->gives_way(draft.worth.chance)) continue;
    if (!follow(*text, ask.text, draft.worth) || draft.worth.most == 0) continue;
    drafts.push_back(draft);
  }
}

void ModelDrafter::plan(std::vector<Draft>& drafts, const GuessPricer& steps,
                        const DraftPricer::Beside& beside) {
  std::ranges::stable_sort(drafts, [](const Draft& a, const Draft& b) {
    if (is_forced(*a.ask) != is_forced(*b.ask)) return is_forced(*a.ask);
    return a.worth.chance > b.worth.chance;
  });
  std::vector<DraftPricer::Text> priced;
  for (Draft& draft : drafts) {
    if (is_forced(*draft.ask)) {
      draft.depth = draft.worth.most;
    } else {
      priced.push_back(draft.worth);
    }
  }
  if (priced.empty()) return;
  DraftPricer::Plan plan;
  {
    const std::scoped_lock lock(mutex_);
    plan = pricer_.plan(priced, steps, beside);
    is_priced_out_ = plan.depth == 0 || plan.is_probe;
  }
  const size_t num_forced = drafts.size() - priced.size();
  for (size_t i = 0; i < std::min<size_t>(plan.texts, priced.size()); ++i) {
    Draft& draft = drafts[num_forced + i];
    draft.depth = std::min(plan.depth, draft.worth.most);
    draft.least_value = plan.least_value;
  }
}

// ---- Guessing -----------------------------------------------------------------------------------

void ModelDrafter::copy_sampler(const Draft& draft) {
  DraftText& text = *draft.text;
  const Sampler& own = *draft.ask->sampler;
  // Without a grammar and a memory of draws, a draw depends on the parameters alone.
  const bool is_kept = text.sampler_ && text.version_ == own.version() &&
                       own.grammar() == nullptr && !own.memory().mirostat_surprise &&
                       own.memory().adaptive_weight == 0;
  if (is_kept) return;
  text.sampler_.emplace(own);
  text.version_ = own.version();
}

void ModelDrafter::catch_up(std::span<Draft> drafts, double most_ns) {
  uint64_t most = kMostRead;
  if (most_ns > 0) {
    const std::scoped_lock lock(mutex_);
    const double token_ns = pricer_.token_ns();
    const auto is_behind = [](const Draft& draft) { return draft.worth.behind > kNear; };
    const auto texts =
        static_cast<double>(std::max<int64_t>(1, std::ranges::count_if(drafts, is_behind)));
    const double fits = token_ns == 0 ? 8 : most_ns / 2 / token_ns / texts;
    most = static_cast<uint64_t>(std::clamp(fits, 1.0, static_cast<double>(kMostRead)));
  }
  System& system = *model_->options().system;
  const uint64_t start = system.now_ns();
  const uint64_t num_read = read(drafts, most);
  const uint64_t ns = system.now_ns() - start;
  const std::scoped_lock lock(mutex_);
  pricer_.observe_reading(num_read, ns);
  stats_.read_tokens += num_read;
}

/// Guesses one token more for each open draft. Returns false if none was open.
bool ModelDrafter::guess_round(std::span<Draft> drafts) {
  const auto is_open = [](const Draft& draft) { return draft.is_open; };
  const auto num_open = static_cast<uint64_t>(std::ranges::count_if(drafts, is_open));
  if (num_open == 0) return false;
  System& system = *model_->options().system;
  const uint64_t start = system.now_ns();
  const uint64_t num_tokens = compute(drafts);
  uint64_t num_guessed = 0;
  for (Draft& draft : drafts) {
    if (!draft.is_open) continue;
    const uint32_t before = draft.count;
    draw(draft);
    num_guessed += draft.count - before;
  }
  const uint64_t ns = system.now_ns() - start;
  const std::scoped_lock lock(mutex_);
  stats_.read_tokens += num_tokens;
  stats_.guessed_tokens += num_guessed;
  // A round that reads much more than a token of each text tells little about the price of one.
  if (num_tokens > 0 && num_tokens <= 2 * num_open) {
    pricer_.observe_round(
        static_cast<uint32_t>(std::min<uint64_t>(num_open, GuessPricer::kMostRows)), ns);
  }
  return true;
}

/// Draws as the model will: by the text's sampler, with the random number of the position. Closes
/// the draft unless another guess is to follow.
void ModelDrafter::draw(Draft& draft) {
  const DraftAsk& ask = *draft.ask;
  draft.is_open = false;
  try {
    GuessWatch watch(*model_->options().system);
    const std::span<const float> row = draft.text->logits().first(vocab_);
    std::vector<Token>& history = draft.text->history_;
    const Token token = draft.text->sampler_->sample(row, history, history.size(), {}, &watch);
    // After an end there is nothing to guess.
    if (model_->tokenizer()->is_end(token)) return;
    const float claim = probability_of(row, token);
    draft.tokens[draft.count] = token;
    draft.claims[draft.count++] = claim;
    history.push_back(token);
    draft.value *= ask.speculator->chance_of_draft_with(claim);
    if (draft.count >= draft.depth) return;
    if (!is_forced(ask) && draft.value < draft.least_value) return;
    go_on(draft, token);
    draft.is_open = true;
  } catch (...) {
    // The guesses so far stay.
  }
}

/// Hands the guesses over.
void ModelDrafter::end(std::span<Draft> drafts) noexcept {
  for (Draft& draft : drafts) {
    try {
      if (draft.count > 0) {
        draft.ask->speculator->adopt(draft.ask->text.size(),
                                     std::span(draft.tokens).first(draft.count),
                                     std::span(draft.claims).first(draft.count));
      }
      leave(draft);
    } catch (...) {
      give_up(*draft.text, "the drafter failed");
    }
  }
}

void ModelDrafter::propose(std::span<const DraftAsk> asks, const GuessPricer& steps,
                           const DraftPricer::Beside& beside) noexcept {
  System& system = *model_->options().system;
  const uint64_t start = system.now_ns();
  std::vector<Draft> drafts;
  try {
    begin(asks, drafts);
    plan(drafts, steps, beside);
    std::erase_if(drafts, [](const Draft& draft) { return draft.depth == 0; });
    for (const Draft& draft : drafts) {
      copy_sampler(draft);
      draft.text->history_.assign(draft.ask->text.begin(), draft.ask->text.end());
    }
    if (!drafts.empty()) catch_up(drafts, beside.most_ns);
    while (guess_round(drafts)) {
    }
  } catch (...) {
    // The texts go on with the guesses that there are.
  }
  end(drafts);
  const std::scoped_lock lock(mutex_);
  stats_.seconds += static_cast<double>(system.now_ns() - start) * 1e-9;
}

// ---- Counts -------------------------------------------------------------------------------------

DraftStats ModelDrafter::stats() const {
  DraftStats now;
  {
    const std::scoped_lock lock(mutex_);
    now = stats_;
  }
  count_memory(now);
  return now;
}

std::string ModelDrafter::describe() const {
  const std::string own_name = name();
  const std::scoped_lock lock(mutex_);
  std::string text =
      fmt::format("{}: {} guesses, {} right", own_name, stats_.guessed_tokens, stats_.right_tokens);
  if (is_priced_out_) {
    text +=
        fmt::format("; not used now: a guess takes {:.3g} ms and is right with a chance of {:.2f}",
                    pricer_.round_ns(1) * 1e-6, pricer_.chance());
  }
  if (stats_.given_up > 0) {
    text += fmt::format("; not used for {} texts: {}", stats_.given_up, why_given_up_);
  }
  return text;
}

}  // namespace tenon
