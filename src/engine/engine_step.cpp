// One step of the engine: what goes into it, running it, drawing, and what comes of it.
#include <algorithm>
#include <cstring>

#include "backend/executable.h"
#include "base/error.h"
#include "engine/engine.h"

namespace tenon {
namespace {

/// The smallest limit that a storm of cancels or short waits can push steps down to.
constexpr uint32_t kLeastStepTokens = 8;

/// A step is stopped so long after its driver wanted to be back; it then ends within a few
/// milliseconds, so that a wait is 10 ms late at most.
constexpr uint64_t kOverrunNs = 5'000'000;

}  // namespace

void Engine::drive(Lock& lock, uint64_t until_ns) {
  driving_ = true;
  until_ns_ = until_ns;
  lock.unlock();
  {
    const std::scoped_lock turn(model_->turn());
    lock.lock();
    const bool any = build_step();
    lock.unlock();
    if (any) run_step();
    trim_slabs();
  }
  lock.lock();
  settle();
  driving_ = false;
}

bool Engine::build_step() noexcept {
  const uint64_t start = system_.now_ns();
  slices_.clear();
  computing_.clear();
  builder_->clear();
  __atomic_store_n(&step_stop_, 0, __ATOMIC_SEQ_CST);
  step_was_stopped_ = false;
  step_is_late_ = false;
  step_ns_ = 0;
  bool built = true;
  try {
    fill_step(start);
  } catch (...) {
    built = false;
    for (Slice& slice : slices_) slice.failure = std::current_exception();
  }
  metrics_.schedule_seconds_total += static_cast<double>(system_.now_ns() - start) * 1e-9;
  return built && !slices_.empty();
}

void Engine::fill_step(uint64_t now_ns) {
  scheduler_.for_each([this](Work& work) { end_if_stopped(static_cast<Request&>(work)); });
  uint32_t beside = tuner_.beside_tokens();
  uint32_t alone = UINT32_MAX;
  if (until_ns_ != UINT64_MAX) {
    const uint64_t left_ns = until_ns_ - std::min(until_ns_, now_ns);
    beside = std::min(beside, tuner_.tokens_within(left_ns, true));
    alone = std::max(kLeastStepTokens, tuner_.tokens_within(left_ns, false));
  }
  const auto picks = scheduler_.pick(now_ns, step_limit_, beside, *this, alone);
  for (const Pick& pick : picks) {
    auto& request = static_cast<Request&>(*pick.work);
    const uint32_t outputs = request.num_outputs(pick.num_tokens);
    slices_.push_back({&request, pick.num_tokens, outputs, builder_->num_outputs(), nullptr,
                       nullptr, false});
    builder_->add(*request.sequence, pick.num_tokens, outputs);
    request.in_step = true;
    if (request.control != nullptr) request.control->in_step.store(1);
  }
  // A cancel sees that the request is in the step, or is seen here.
  for (const Slice& slice : slices_) {
    if (is_set(slice.request->cancel)) stop_step();
  }
}

uint32_t Engine::num_prompt_tokens() const {
  uint32_t count = 0;
  for (const Slice& slice : slices_) count += slice.num_tokens == 1 ? 0 : slice.num_tokens;
  return count;
}

void Engine::look_at_clock(void* arg) noexcept {
  auto& engine = *static_cast<Engine*>(arg);
  if (engine.system_.now_ns() < engine.late_ns_) return;
  engine.step_is_late_ = true;
  engine.stop_step();
}

void Engine::run_step() noexcept {
  const uint64_t start = system_.now_ns();
  ThreadTeam& team = model_->team();
  try {
    if (until_ns_ != UINT64_MAX && num_prompt_tokens() > kLeastStepTokens) {
      const uint64_t wanted_ns = std::max(until_ns_, start);
      late_ns_ = wanted_ns + std::min(kOverrunNs, UINT64_MAX - wanted_ns);
      team.set_watch({&Engine::look_at_clock, this});
    }
    compute();
    draw_tokens();
  } catch (const Error& error) {
    step_was_stopped_ = error.code() == Code::Cancelled && is_set(&step_stop_);
    for (Slice& slice : slices_) {
      if (!step_was_stopped_) slice.failure = std::current_exception();
    }
  } catch (...) {
    for (Slice& slice : slices_) slice.failure = std::current_exception();
  }
  team.set_watch({});
  step_ns_ = system_.now_ns() - start;
}

void Engine::compute() {
  // The logits of one request go where they are wanted, without a copy.
  if (slices_.size() == 1 && slices_[0].request->logits != nullptr) {
    float* logits = slices_[0].request->logits_at(vocab_);
    model_->executable().run(builder_->finish(logits, &step_stop_));
    return;
  }
  const uint64_t needed = builder_->num_outputs() * vocab_ * sizeof(float);
  if (logits_.size() < needed) {
    logits_ = Buffer(model_->options().system, needed, "logits of a batch");
  }
  model_->executable().run(builder_->finish(reinterpret_cast<float*>(logits_.data()), &step_stop_));
  hand_out_logits();
}

void Engine::hand_out_logits() {
  const auto* rows = reinterpret_cast<const float*>(logits_.data());
  for (const Slice& slice : slices_) {
    if (slice.num_outputs == 0 || slice.request->logits == nullptr) continue;
    std::memcpy(slice.request->logits_at(vocab_), rows + slice.first_output * vocab_,
                slice.num_outputs * vocab_ * sizeof(float));
  }
}

// ---- Drawing ------------------------------------------------------------------------------------

bool Engine::draws(const Slice& slice) const {
  return slice.request->loop != nullptr && slice.num_outputs != 0;
}

void Engine::draw(Slice& slice) noexcept {
  Request& request = *slice.request;
  try {
    const float* row = request.logits;
    if (row == nullptr) {
      row = reinterpret_cast<const float*>(logits_.data()) + slice.first_output * vocab_;
    }
    DrawWatch watch(request, long_draws_, system_, &step_stop_);
    request.loop->draw({row, vocab_}, *request.sequence, &watch);
    if (request.generation != nullptr && request.loop->has_token()) {
      request.generation->logprobs.note({row, vocab_}, request.loop->token());
    }
  } catch (const DrawWatch::PutOff&) {
    slice.put_off = true;
  } catch (...) {
    slice.draw_failure = std::current_exception();
  }
}

void Engine::draw_tokens() noexcept {
  long_draws_.num_left = LongDraws::kInAStep;
  ++first_draw_;
  uint32_t num_draws = 0;
  Slice* only = nullptr;
  for (Slice& slice : slices_) {
    if (!draws(slice)) continue;
    ++num_draws;
    only = &slice;
  }
  if (num_draws == 0) return;
  if (num_draws == 1) return draw(*only);
  Phases job;
  job.num_phases = 1;
  job.arg = this;
  job.phase = [](void* arg, uint32_t, uint32_t thread, uint32_t num_threads) noexcept {
    auto& engine = *static_cast<Engine*>(arg);
    for (size_t i = thread; i < engine.slices_.size(); i += num_threads) {
      Slice& slice = engine.slices_[(engine.first_draw_ + i) % engine.slices_.size()];
      if (engine.draws(slice)) engine.draw(slice);
    }
  };
  try {
    model_->team().run(job);
  } catch (...) {
    for (Slice& slice : slices_) {
      if (draws(slice)) slice.draw_failure = std::current_exception();
    }
  }
}

// ---- What comes of it ---------------------------------------------------------------------------

void Engine::settle() {
  if (slices_.empty()) return;
  const uint64_t start = system_.now_ns();
  ++metrics_.steps_total;
  metrics_.step_seconds_total += static_cast<double>(step_ns_) * 1e-9;
  const uint32_t most = builder_->max_tokens();
  if (step_was_stopped_) {
    ++metrics_.steps_stopped_total;
    scheduler_.take_back();
    if (step_is_late_) {
      tuner_.observe_overrun(num_prompt_tokens(), step_ns_);
    } else {
      step_limit_ = std::max(step_limit_ / 2, std::min(kLeastStepTokens, most));
    }
  } else {
    step_limit_ = std::min(2 * step_limit_, most);
    const uint32_t prompts = num_prompt_tokens();
    uint32_t decodes = 0;
    for (const Slice& slice : slices_) decodes += slice.num_tokens == 1 ? 1 : 0;
    tuner_.observe(decodes, prompts, step_ns_);
    metrics_.decode_tokens_total += decodes;
    metrics_.prompt_tokens_total += prompts;
  }
  for (Slice& slice : slices_) settle_slice(slice, step_was_stopped_);
  slices_.clear();
  metrics_.schedule_seconds_total += static_cast<double>(system_.now_ns() - start) * 1e-9;
}

void Engine::settle_slice(Slice& slice, bool stopped) {
  Request& request = *slice.request;
  request.in_step = false;
  if (request.control != nullptr) request.control->in_step.store(0);
  if (stopped || slice.failure) {
    request.sequence->roll_back();
    if (slice.failure) return end(request, std::move(slice.failure));
    return end_if_stopped(request);  // or it goes again
  }
  const uint64_t before = request.sequence->cached();
  request.sequence->commit(slice.num_tokens);
  request.num_left -= slice.num_tokens;
  try {
    if (index_ != nullptr) share_blocks(request, before);
    if (request.num_left > 0) return;
    if (slice.draw_failure) return end(request, std::move(slice.draw_failure));
    if (slice.put_off) return compute_next(request);
    if (request.generation == nullptr) return end(request, nullptr);
    take_drawn(*request.generation);
  } catch (...) {
    end(request, std::current_exception());
  }
}

void Engine::take_drawn(Generation& generation) {
  AnswerLoop& loop = *generation.loop;
  Sequence& sequence = *generation.sequence;
  loop.settle(sequence, [&sequence](uint64_t size) { sequence.truncate(size); });
  if (loop.has_token()) {
    generation.logprobs.keep();
  } else {
    generation.logprobs.take_back(generation.tokens.size() + loop.num_held());
  }
  bool any = false;
  for (; loop.has_piece(); any = true) hand_out(generation, loop.take_piece());
  if (generation.finish != Finish::None) return end(generation, nullptr);
  compute_next(generation);
  if (!any) return;
  generation.control->wake.post();
  tell_later(generation.self);
}

void Engine::hand_out(Generation& generation, const AnswerPiece& piece) {
  generation.text.append(piece.text);
  generation.finish = piece.finish;
  if (piece.token < 0) {
    // When the last token has been fetched, text held back for a stop comes by itself.
    generation.has_tail = generation.num_fetched == generation.tokens.size();
    if (!generation.has_tail) generation.text_ends.back() = generation.text.size();
    return;
  }
  generation.text_ends.push_back(generation.text.size());
  generation.tokens.push_back(piece.token);
  const uint64_t now = system_.now_ns();
  if (generation.first_token_ns == 0) {
    generation.first_token_ns = now;
    metrics_.first_token.add(now - generation.submitted_ns);
  } else {
    metrics_.token_gap.add(now - generation.latest_token_ns);
  }
  generation.latest_token_ns = now;
  ++metrics_.generated_tokens_total;
}

void Engine::compute_next(Request& request) {
  Sequence& sequence = *request.sequence;
  // After tokens taken back, or a draw put off, the logits of the last one are wanted once more.
  if (sequence.num_pending() == 0) sequence.forget_cached(sequence.size() - 1);
  request.end = sequence.size();
  request.num_left = sequence.num_pending();
}

void Engine::end(Request& request, std::exception_ptr failure) noexcept {
  scheduler_.remove(request);
  request.failure = std::move(failure);
  request.ended = true;
  if (request.generation != nullptr && !request.loop->is_fresh()) {
    // What nobody was to see yet is no part of the text.
    request.sequence->truncate(std::min(request.sequence->size(), request.loop->held_begin()));
    request.loop->drop_held();
  }
  if (request.control != nullptr) {
    idle_.add(request.control->idle);
    request.control->wake.post();
  }
  if (request.generation == nullptr) return;
  Generation& generation = *request.generation;
  const std::shared_ptr<Generation> self = std::move(generation.self);
  metrics_.whole_request.add(system_.now_ns() - generation.submitted_ns);
  uint64_t* counter = &metrics_.finished_total;
  if (generation.failure) {
    counter = &metrics_.failed_total;
    try {
      std::rethrow_exception(generation.failure);
    } catch (const Error& error) {
      if (error.code() == Code::Cancelled) {
        counter = &metrics_.cancelled_total;
        // The flag was for this call.
        __atomic_store_n(&generation.call->cancel, 0, __ATOMIC_SEQ_CST);
      }
      if (error.code() == Code::Deadline) counter = &metrics_.expired_total;
    } catch (...) {
    }
  }
  ++*counter;
  if (generation.withdrawn != nullptr) generation.withdrawn->post();
  generation.call->in_use.store(false, std::memory_order_release);
  if (self != nullptr) tell_later(self);
}

}  // namespace tenon
