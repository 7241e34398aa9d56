// Engine: guesses of the draft model, made before a step and without the engine's lock.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/draft_model.h"
#include "engine/engine.h"

namespace tenon {

/// Longest time for guesses with the step after them; 0: any.
double Engine::most_draft_ns(uint64_t until_ns) const {
  auto most_ns = static_cast<double>(options_.max_stall_ns);
  if (until_ns == UINT64_MAX) return most_ns;
  const uint64_t now_ns = system_.now_ns();
  const auto left_ns = static_cast<double>(std::max(until_ns, now_ns + 1) - now_ns);
  return most_ns == 0 ? left_ns : std::min(most_ns, left_ns);
}

/// Lets a draft model or prediction blocks guess for all requests that go on by a token. They count
/// as under way meanwhile, so that no other thread ends them.
void Engine::draft_for_requests(Lock& lock, ModelDrafter& drafter, uint64_t until_ns) {
  State& state = *lock;
  std::vector<DraftAsk>& asks = state.draft_asks;
  std::vector<Request*>& drafted = state.drafted;
  asks.clear();
  drafted.clear();
  DraftPricer::Beside beside{0, most_draft_ns(until_ns)};
  state.scheduler.for_each([&](Work& work) {
    auto& request = static_cast<Request&>(work);
    if (work.place() != Work::Place::Running) return;
    beside.decodes += request.is_decode() ? 1 : 0;
    Generation* const generation = request.generation;
    if (generation == nullptr || !can_guess(request) || is_stopped(request)) return;
    if (generation->speculator->draft == nullptr) return;
    DraftAsk ask;
    ask.speculator = generation->speculator.get();
    ask.text = request.sequence->tokens();
    ask.sampler = &generation->sampler;
    // The row of the last guess draws a token, too.
    const uint64_t most = std::min<uint64_t>(generation->options.ends.tokens_left,
                                             request.sequence->context() - ask.text.size());
    ask.room = static_cast<uint32_t>(std::min<uint64_t>(most, Drafter::kMostGuesses + 1));
    ask.room -= std::min(ask.room, 1u);
    ask.cancel = request.cancel;
    ask.deadline_ns = request.deadline_ns;
    try {
      asks.push_back(ask);
      drafted.push_back(&request);
    } catch (...) {
      asks.resize(drafted.size());
    }
  });
  if (asks.empty()) return;
  for (Request* request : drafted) ++request->num_under_way;
  const GuessPricer steps = state.pricer;
  lock.unlock();
  drafter.propose(asks, steps, beside);
  lock.lock();
  for (Request* request : drafted) {
    --request->num_under_way;
    end_if_stopped(state, *request);
  }
}

std::string Engine::describe_drafters() const {
  if (options_.speculation == Speculation::Off) return "off: the option speculation is \"off\"\n";
  if (options_.speculation == Speculation::Auto && steps_.overlap()) {
    return "not used: the device begins steps before tokens are known, which saves more\n";
  }
  if (model_->options().draft_max == 0) return "off: the option draft_max is 0\n";
  const EngineMetrics now = metrics();
  const auto line = [&](const char* name, DraftSource source) {
    return fmt::format("{}: {} accepted\n", name, now.accepted_by[static_cast<size_t>(source)]);
  };
  std::string text =
      line("grammar", DraftSource::Grammar) + line("predicted answer", DraftSource::Prediction) +
      line("repetition", DraftSource::Text) + line("ended answers", DraftSource::Answers);
  const ModelDrafter* const by = drafter();
  if (by == nullptr) return text + "draft model: none\n";
  return text + by->describe() + "; " + line("of these", by->source());
}

void Engine::draft_for_call(DraftAsk& ask) noexcept {
  if (drafts_ == nullptr || ask.speculator->draft == nullptr) return;
  const GuessPricer steps = Lock(state_)->pricer;
  drafts_->propose(std::span(&ask, 1), steps, {1, most_draft_ns(UINT64_MAX)});
}

}  // namespace tenon
