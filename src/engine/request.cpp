#include "engine/request.h"

#include <algorithm>
#include <utility>

namespace tenon {
namespace {

/// Drawn tokens reserved at once, and bytes of text per token.
constexpr uint64_t kReservedTokens = 4096;
constexpr uint64_t kReservedText = 8;

}  // namespace

uint32_t Request::num_outputs(uint32_t num_tokens) const {
  const uint64_t from = sequence->begun();
  const uint64_t to = from + num_tokens;
  if (outputs == Outputs::Last) return to == end ? 1 : 0;
  if (outputs == Outputs::None || to <= outputs_from) return 0;
  return static_cast<uint32_t>(to - std::max(from, outputs_from));
}

float* Request::logits_at(uint64_t past, uint64_t vocab) const {
  if (outputs != Outputs::All) return logits;
  return logits + (std::max(past, outputs_from) - outputs_from) * vocab;
}

bool Request::wants_row() const {
  return num_row_draws > 0 || (generation != nullptr && generation->logprobs.are_wanted());
}

void Request::note_drawn(bool by_device) noexcept {
  is_drawn_by_device = by_device;
  if (num_row_draws > 0) --num_row_draws;
}

void Request::restart() noexcept {
  if (generation != nullptr) end = sequence->size();
  num_left = end - sequence->cached();
  drawn_row = kNoRow;
}

uint64_t Request::reuse_limit() const {
  if (outputs == Outputs::All) return outputs_from;
  return outputs == Outputs::Last && end > 0 ? end - 1 : end;
}

Generation::Generation(Sequence& of_session, AnswerText& end_of_text,
                       std::shared_ptr<CallControl> shared, const Sampler& draws,
                       const GenerationOptions& limits, uint64_t vocab)
    : options(limits),
      call(std::move(shared)),
      sampler(draws),
      decoding(end_of_text),
      logprobs(limits.logprobs, vocab) {
  sequence = &of_session;
  control = call.get();
  idle = &call->idle;
  cancel = call->cancel.word();
  generation = this;
  outputs = Outputs::Last;
  priority = options.priority;
  bounded = true;
  const uint64_t room = of_session.context() - of_session.size();
  options.ends.tokens_left = options.max_tokens == 0 ? room : std::min(options.max_tokens, room);
  const uint64_t reserved = std::min(options.ends.tokens_left, kReservedTokens);
  tokens.reserve(reserved);
  text_ends.reserve(reserved);
  text.reserve(reserved * kReservedText);
  logprobs.reserve(reserved);
  options.logprobs = {};  // its tokens belong to the caller
  options.prediction = {};
  options.ends.min_tokens = static_cast<uint64_t>(sampler.values().integer("min_tokens"));
  sampler.set_token_limit(options.ends.tokens_left);
  loop = &decoding;
  loop->resume(sampler, options.ends, of_session);
}

void Generation::speculate(std::unique_ptr<Speculator> by) {
  if (by == nullptr) return;
  settled.reserve(Drafter::kMostGuesses + 1);
  settled_text.reserve((Drafter::kMostGuesses + 1) * kReservedText);
  speculator = std::move(by);
}

bool Generation::settle_drawn() {
  loop->settle(*sequence, [](uint64_t) {});  // has a token: nothing is cut
  logprobs.stage();
  bool goes_on = true;
  while (loop->has_piece()) {
    const AnswerPiece taken = loop->take_piece();
    settled_text.append(taken.text);
    settled.push_back({taken.token, taken.finish, settled_text.size()});
    goes_on = goes_on && taken.finish == Finish::None;
  }
  return goes_on;
}

void Generation::propose(WorkWatch* watch) noexcept {
  try {
    // The row of the last guess draws a token, too.
    const uint64_t most =
        std::min<uint64_t>(options.ends.tokens_left, sequence->context() - sequence->size());
    speculator->propose(sequence->tokens(), loop->forced_ahead(watch),
                        most - std::min<uint64_t>(most, 1));
  } catch (...) {
    speculator->forget();
  }
}

}  // namespace tenon
