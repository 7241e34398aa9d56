// Engine: filling, starting and settling steps.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/engine.h"
#include "model/placed_executable.h"

namespace tenon {
namespace {

/// Smallest step limit after a series of cancels or short waits.
constexpr uint32_t kLeastStepTokens = 8;

/// A step is stopped this long after its driver wanted to return. It ends within a few
/// milliseconds, so a wait is at most 10 ms late.
constexpr uint64_t kOverrunNs = 5'000'000;

}  // namespace

/// Runs a step, unless the limits end the wait for the device's turn.
void Engine::drive(Lock& lock, const DriveLimits& limits) {
  driving_ = true;
  lock.unlock();
  {
    DeviceTurn::Use turn(model_->turn(), *this,
                         {system_, limits.until_ns, nullptr, limits.is_over, limits.arg});
    if (turn.has_turn()) run_step(lock, turn, limits.until_ns);
  }
  lock.lock();
  driving_ = false;
}

void Engine::run_step(Lock& lock, DeviceTurn::Use& turn, uint64_t until_ns) noexcept {
  until_ns_ = until_ns;
  if (num_steps_ == 0) begin_step(lock);
  if (num_steps_ > 0) {
    step_at(0).start_draws();
    if (num_steps_ < steps_.size()) begin_step_ahead(lock);
    finish_oldest(lock);
  }
  // Starts the device's draws before the driver leaves.
  if (num_steps_ > 0) {
    step_at(0).start_draws();
    turn.leave_steps(*this);
  }
  trim_slabs();
}

void Engine::finish_steps() noexcept {
  Lock lock(mutex_, std::defer_lock);
  while (num_steps_ > 0) {
    step_at(0).start_draws();
    finish_oldest(lock);
  }
  lock.lock();
  hand_over(lock);
}

// ---- Filling a step -----------------------------------------------------------------------------

void Engine::begin_step(Lock& lock) noexcept {
  Step& step = step_at(num_steps_);
  const uint64_t after = num_steps_ > 0 ? step_at(num_steps_ - 1).ticket() : TENON_NO_TICKET;
  lock.lock();
  const uint64_t start = system_.now_ns();
  step.clear();
  step_is_late_ = false;
  try {
    fill_step(step, start);
  } catch (...) {
    end_one(std::current_exception());
  }
  metrics_.schedule_seconds_total += static_cast<double>(system_.now_ns() - start) * 1e-9;
  if (num_steps_ > 0 && !step.slices().empty()) ++metrics_.steps_ahead_total;
  lock.unlock();
  if (step.slices().empty()) return;
  ++num_steps_;
  if (steps_.size() == 1) watch_clock(step);
  step.start(after);
}

void Engine::fill_step(Step& step, uint64_t now_ns) {
  scheduler_.for_each([this](Work& work) { end_if_stopped(static_cast<Request&>(work)); });
  uint32_t beside = tuner_.beside_tokens();
  uint32_t alone = UINT32_MAX;
  if (until_ns_ != UINT64_MAX) {
    const uint64_t left_ns = until_ns_ - std::min(until_ns_, now_ns);
    beside = std::min(beside, tuner_.tokens_within(left_ns, true));
    alone = std::max(kLeastStepTokens, tuner_.tokens_within(left_ns, false));
  }
  const auto picks = scheduler_.pick(now_ns, step_limit_, beside, *this, alone);
  for (const Pick& pick : picks) add_to_step(step, pick);
  scheduler_.for_each([this](Work& work) {
    auto& request = static_cast<Request&>(work);
    if (request.failure) return end(request, std::exchange(request.failure, nullptr));
    // A request without outputs may have found all its tokens; it is in no step and done.
    const bool is_done = request.num_left == 0 && request.num_under_way == 0;
    if (request.outputs == Outputs::None && is_done) end(request, nullptr);
  });
  // Cancels from now on see the step; earlier ones are seen here.
  for (const Slice& slice : step.slices()) {
    if (is_set(slice.request->cancel)) stop_steps();
  }
}

/// Notes the failure of a request that cannot be added; the others are computed without it.
void Engine::add_to_step(Step& step, const Pick& pick) noexcept {
  auto& request = static_cast<Request&>(*pick.work);
  try {
    step.add(request, pick.num_tokens);
  } catch (...) {
    Scheduler::take_back(pick);
    let_go_of_steps(request);
    request.sequence->roll_back();
    request.failure = std::current_exception();
    return;
  }
  request.sequence->begin(pick.num_tokens);
  request.num_left -= pick.num_tokens;
  request.drawn_row = Request::kNoRow;
  const bool is_first = request.num_under_way++ == 0;
  if (is_first && request.control != nullptr) request.control->in_step.fetch_add(1);
}

/// Ends the oldest request outside steps: a step that cannot be filled must not be begun again for
/// the same requests.
void Engine::end_one(std::exception_ptr failure) noexcept {
  Request* oldest = nullptr;
  scheduler_.for_each([&oldest](Work& work) {
    auto& request = static_cast<Request&>(work);
    if (oldest == nullptr && request.num_under_way == 0) oldest = &request;
  });
  if (oldest == nullptr) return;
  oldest->sequence->roll_back();
  end(*oldest, std::move(failure));
}

/// Begins the next step while the oldest runs, with tokens that are known or will be drawn by the
/// device.
void Engine::begin_step_ahead(Lock& lock) noexcept {
  lock.lock();
  const bool pays = name_drawn_tokens(step_at(0));
  lock.unlock();
  if (pays) begin_step(lock);
  step_at(0).prepare_masks();
}

/// Continues requests whose next token the device draws, before the token is known. Returns false
/// if most requests wait for a token that the host draws: a step without them would only delay
/// them.
bool Engine::name_drawn_tokens(Step& step) {
  const auto ends = [](const Request& request) {
    return request.generation == nullptr || request.generation->options.ends.tokens_left <= 1;
  };
  const auto goes_on = [&ends](const Slice& slice) {
    return slice.completes && !ends(*slice.request) && slice.drawn != nullptr &&
           !slice.draw_failure && slice.request->is_drawn_by_device;
  };
  uint64_t num_to_go_on = 0;
  uint64_t num_to_wait = 0;
  for (const Slice& slice : step.slices()) {
    if (slice.request == nullptr || slice.failure) continue;
    if (!slice.completes || goes_on(slice)) {
      ++num_to_go_on;
    } else if (!ends(*slice.request)) {
      ++num_to_wait;
    }
  }
  if (num_to_go_on < num_to_wait) return false;
  for (const Slice& slice : step.slices()) {
    if (slice.request == nullptr || slice.failure || !goes_on(slice)) continue;
    Request& request = *slice.request;
    request.drawn_row = slice.first_output;
    request.end = request.sequence->size() + 1;
    request.num_left = 1;
  }
  return true;
}

void Engine::watch_clock(const Step& step) noexcept {
  if (until_ns_ == UINT64_MAX || step.num_prompt_tokens() <= kLeastStepTokens) return;
  const uint64_t wanted_ns = std::max(until_ns_, system_.now_ns());
  late_ns_ = wanted_ns + std::min(kOverrunNs, UINT64_MAX - wanted_ns);
  model_->team().set_watch({&Engine::look_at_clock, this});
}

void Engine::look_at_clock(void* arg) noexcept {
  auto& engine = *static_cast<Engine*>(arg);
  if (engine.system_.now_ns() < engine.late_ns_) return;
  engine.step_is_late_ = true;
  engine.stop_steps();
}

// ---- Settling a step ----------------------------------------------------------------------------

void Engine::finish_oldest(Lock& lock) noexcept {
  Step& step = step_at(0);
  // A step that ended while no thread looked has no measured duration.
  const bool was_seen = steps_.size() == 1 || !step.has_ended();
  step.finish(++first_draw_, num_steps_ == 1);
  if (num_steps_ > 1) step_at(1).note_end_of(step);
  if (steps_.size() == 1) model_->team().set_watch({});
  const uint64_t end = system_.now_ns();
  const uint64_t step_ns = end - std::max(step.started_ns(), step_end_ns_);
  step_end_ns_ = end;
  lock.lock();
  settle(step, step_ns, was_seen);
  step.clear();
  oldest_step_ = (oldest_step_ + 1) % steps_.size();
  --num_steps_;
  lock.unlock();
}

void Engine::settle(Step& step, uint64_t step_ns, bool was_seen) {
  const uint64_t start = system_.now_ns();
  ++metrics_.steps_total;
  metrics_.logits_rows_total += step.num_rows();
  metrics_.step_seconds_total += static_cast<double>(step_ns) * 1e-9;
  const uint32_t most = step.max_tokens();
  if (step.was_stopped()) {
    ++metrics_.steps_stopped_total;
    if (step_is_late_) {
      tuner_.observe_overrun(step.num_prompt_tokens(), step_ns);
    } else {
      step_limit_ = std::max(step_limit_ / 2, std::min(kLeastStepTokens, most));
    }
  } else if (!step.was_dropped()) {
    step_limit_ = std::min(2 * step_limit_, most);
    const uint32_t prompts = step.num_prompt_tokens();
    const uint32_t decodes = step.num_decodes();
    if (was_seen) tuner_.observe(decodes, prompts, step_ns);
    metrics_.decode_tokens_total += decodes;
    metrics_.prompt_tokens_total += prompts;
  }
  const bool goes_again = step.was_stopped() || step.was_dropped();
  for (Slice& slice : step.slices()) settle_slice(slice, goes_again);
  metrics_.schedule_seconds_total += static_cast<double>(system_.now_ns() - start) * 1e-9;
}

/// A step that runs again computed nothing and failed no request.
void Engine::settle_slice(Slice& slice, bool goes_again) {
  if (slice.request == nullptr) return;
  Request& request = *slice.request;
  const bool is_as_drawn = slice.is_as_drawn();
  slice.request = nullptr;
  const bool was_last = --request.num_under_way == 0;
  if (was_last && request.control != nullptr) request.control->in_step.fetch_sub(1);
  if (goes_again || slice.failure) {
    let_go_of_steps(request);
    request.sequence->roll_back();
    request.restart();
    if (goes_again) Scheduler::take_back({&request, slice.num_tokens});
    if (slice.failure) return end(request, std::move(slice.failure));
    return end_if_stopped(request);  // or it runs again
  }
  const uint64_t before = request.sequence->cached();
  request.sequence->commit(slice.num_tokens);
  try {
    if (index_ != nullptr) share_blocks(request, before);
    if (!slice.completes) return;
    if (slice.draw_failure) return end(request, std::move(slice.draw_failure));
    // A following step with another token is discarded.
    if (!is_as_drawn) let_go_of_steps(request);
    if (slice.is_put_off) return compute_next(request);
    if (request.generation == nullptr) return end(request, nullptr);
    take_drawn(*request.generation);
  } catch (...) {
    end(request, std::current_exception());
  }
}

/// Detaches the request from steps under way. They may still write to its blocks, but before any
/// later step, so the blocks can be reused.
void Engine::let_go_of_steps(Request& request) noexcept {
  if (request.num_under_way == 0) return;
  for (size_t i = 0; i < num_steps_; ++i) {
    for (Slice& slice : step_at(i).slices()) {
      if (slice.request == &request) slice.request = nullptr;
    }
  }
  request.num_under_way = 0;
  if (request.control != nullptr) request.control->in_step.fetch_sub(1);
  request.sequence->roll_back();
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
    // Releases text held back for a stop by itself if the last token has been fetched already.
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
  // After removed tokens or a deferred draw, the logits of the last token are needed again.
  if (sequence.num_pending() == 0) sequence.forget_cached(sequence.size() - 1);
  request.end = sequence.size();
  // A step under way may compute it already.
  request.num_left = sequence.size() - sequence.begun();
  request.drawn_row = Request::kNoRow;
}

void Engine::end(Request& request, std::exception_ptr failure) noexcept {
  let_go_of_steps(request);
  scheduler_.remove(request);
  request.failure = std::move(failure);
  request.ended = true;
  if (request.generation != nullptr && !request.loop->is_fresh()) {
    // Tokens that were not handed out are not part of the text.
    request.sequence->truncate(std::min(request.sequence->size(), request.loop->held_begin()));
    request.loop->drop_held();
  }
  if (request.idle != nullptr) idle_.add(*request.idle);
  if (request.control != nullptr) request.control->wake.post();
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
        // The flag was meant for this call.
        generation.call->cancel.clear();
      }
      if (error.code() == Code::Deadline) counter = &metrics_.expired_total;
    } catch (...) {
    }
  }
  ++*counter;
  // Wakes all waiting threads under the lock, so that no entry is used after its thread continues.
  for (Generation::Withdrawal* one = std::exchange(generation.withdrawals, nullptr); one != nullptr;
       one = one->next) {
    one->wake.post();
  }
  generation.call->in_use.store(false, std::memory_order_release);
  if (self != nullptr) tell_later(self);
}

}  // namespace tenon
