// Engine: queueing, waiting and driving, then the steps, in the order of a request's life.
#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/process_id.h"
#include "engine/text_drafter.h"
#include "kv/folder_store.h"
#include "model/placed_executable.h"

namespace tenon {
namespace {

/// Smallest step limit after a series of cancels or short waits.
constexpr uint32_t kLeastStepTokens = 8;

/// A step is stopped this long after its driver wanted to return. It ends within a few
/// milliseconds, so a wait is at most 10 ms late.
constexpr uint64_t kOverrunNs = 5'000'000;

uint32_t step_tokens_of(const Model& model, const EngineOptions& options) {
  const uint32_t most = model.program().view().max_tokens;
  return options.step_tokens == 0 ? most : std::min(options.step_tokens, most);
}

SchedulerOptions scheduler_options(const Model& model, const EngineOptions& options) {
  SchedulerOptions scheduler;
  scheduler.step_tokens = step_tokens_of(model, options);
  scheduler.tile_tokens = model.executable().device()->info().token_multiple;
  scheduler.max_running = std::max(options.max_running, 1u);
  scheduler.max_queued = options.max_queued;
  scheduler.max_queued_tokens = options.max_queued_tokens;
  scheduler.ageing_ns = options.ageing_ns;
  return scheduler;
}

std::shared_ptr<DraftModel> make_draft_model(const std::shared_ptr<const Model>& model,
                                             std::shared_ptr<const Model> draft,
                                             const EngineOptions& options) {
  if (draft == nullptr) return nullptr;
  return std::make_shared<DraftModel>(std::move(draft), model, options);
}

std::shared_ptr<BlockDrafter> make_block_drafter(const std::shared_ptr<const Model>& model,
                                                 const EngineOptions& options) {
  if (model->find(ProgramRole::Prediction) == nullptr) return nullptr;
  if (options.speculation == Speculation::Off) return nullptr;
  return std::make_shared<BlockDrafter>(model, options);
}

}  // namespace

std::shared_ptr<Engine> Engine::create(std::shared_ptr<const Model> model,
                                       const EngineOptions& options) {
  std::shared_ptr<const Model> draft = model->draft();
  return create(std::move(model), options, std::move(draft));
}

std::shared_ptr<Engine> Engine::create(std::shared_ptr<const Model> model,
                                       const EngineOptions& options,
                                       std::shared_ptr<const Model> draft) {
  (void)model->executable();  // throws if there is none
  return std::shared_ptr<Engine>(new Engine(std::move(model), options, std::move(draft)));
}

Engine::State::State(const Model& model, const EngineOptions& options, const CachePools& pools)
    : scheduler(scheduler_options(model, options)),
      memory(model, options, pools),
      tuner(options.decode_stretch, step_tokens_of(model, options), options.max_stall_ns),
      step_limit(step_tokens_of(model, options)) {
  const uint32_t most = step_limit;
  guesses.reserve(most);
  guess_values.reserve(most);
  num_guesses.reserve(most);
}

Engine::Engine(std::shared_ptr<const Model> model, const EngineOptions& options,
               std::shared_ptr<const Model> draft)
    : model_(std::move(model)),
      options_(options),
      system_(*model_->options().system),
      owner_pid_(process_id()),
      pools_(*model_, options),
      drafts_(make_draft_model(model_, std::move(draft), options)),
      blocks_(drafts_ == nullptr ? make_block_drafter(model_, options) : nullptr),
      answers_(std::make_shared<EndedAnswers>(options.answer_bytes)),
      state_(*model_, options, pools_),
      steps_(*model_, pools_.all()),
      on_turn_(StepClock{system_, steps_}) {
  if (options_.store.empty()) return;
  check_index(*Lock(state_));
  set_store(std::make_shared<FolderStore>(model_->options().system, options_.store,
                                          options_.store_bytes));
}

Engine::~Engine() {
  if (!is_of_this_process()) {  // the thread that holds the turn does not exist here
    (void)tier_.release();      // nor does the tier's
    return;
  }
  tier_.reset();
  const DeviceTurn::Use use(model_->turn(), left_steps_);  // buffers go back to the device
  const Turn& turn = use.held();
  // No request waits for these steps.
  for (; !steps_.is_empty(turn); steps_.pop(turn)) {
    steps_.oldest(turn).finish(0, steps_.has_one(turn));
  }
  steps_.clear(turn);
  const Lock lock(state_);
  lock->memory.clear(turn);
  pools_.clear(turn);
}

bool Engine::is_of_this_process() const noexcept { return process_id() == owner_pid_; }

void Engine::check_process() const {
  if (!is_of_this_process()) {
    fail(Code::State, "engine: made before fork(), cannot run in the child process");
  }
}

Hash128 Engine::root_of(std::string_view salt) {
  const Lock lock(state_);
  lock->has_roots = true;
  return lock->memory.root_of(salt);
}

// ---- Items of waiting threads -------------------------------------------------------------------

uint64_t Engine::run(const BatchItem& item) { return run(std::span(&item, 1)); }

uint64_t Engine::run(std::span<const BatchItem> items) {
  check_process();
  // A single request allocates nothing: every token of a session comes this way.
  Request one;
  std::vector<Request> many(items.size() > 1 ? items.size() : 0);
  const std::span<Request> requests =
      items.size() > 1 ? std::span<Request>(many) : std::span<Request>(&one, items.size());
  Wake own;
  Lock lock(state_);
  uint64_t num_computed = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    enqueue(*lock, requests[i], items[i]);
    num_computed += requests[i].num_left;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    Request& request = requests[i];
    Wake& wake = items[i].control != nullptr ? items[i].control->wake : own;
    wait_until(lock, wake, &request, UINT64_MAX, [&request] { return request.ended; });
    // A request preempted meanwhile may have found its own blocks again.
    num_computed -= std::min(num_computed, request.num_reused);
    if (items[i].num_guessed != nullptr) *items[i].num_guessed = request.num_guessed;
  }
  for (const Request& request : requests) {
    if (request.failure) std::rethrow_exception(request.failure);
  }
  return num_computed;
}

void Engine::enqueue(State& state, Request& request, const BatchItem& item) {
  request.sequence = item.sequence;
  request.end = item.end;
  request.outputs = item.outputs;
  request.outputs_from = item.begin;
  request.logits = item.logits;
  request.loop = item.loop;
  request.cancel = item.cancel;
  request.control = item.control;
  request.idle = item.idle != nullptr || item.control == nullptr ? item.idle : &item.control->idle;
  request.deadline_ns = item.deadline_ns;
  request.priority = item.priority;
  request.guesses = item.guesses;
  request.guessed_by = item.guessed_by;
  request.guess_logits = item.guess_logits;
  request.num_left = item.end - std::min(item.end, item.sequence->cached());
  if (request.num_left == 0) {
    request.ended = true;
    return;
  }
  try {
    request.client = &state.scheduler.client(item.client, item.weight);
    state.scheduler.add(request, system_.now_ns());
    if (request.idle != nullptr) state.memory.idle().remove(*request.idle);
  } catch (...) {
    request.failure = std::current_exception();
    request.ended = true;
  }
}

// ---- Waiting and driving ------------------------------------------------------------------------

template <typename Done>
bool Engine::wait_until(Lock& lock, Wake& wake, Request* request, uint64_t until_ns, Done done) {
  bool in_time = true;
  // Also ends a wait for the device's turn, during which another thread may end the request or
  // settle its steps.
  auto is_over = [&] {
    const Lock look(state_);
    return done() || (request != nullptr && request->num_under_way == 0 && is_stopped(*request));
  };
  using IsOver = decltype(is_over);
  const DriveLimits limits{until_ns, [](void* arg) { return (*static_cast<IsOver*>(arg))(); },
                           &is_over};
  for (bool first = true; !done(); first = false) {
    if (request != nullptr) end_if_stopped(*lock, *request);
    if (done()) break;
    // Skips the first round, so that waits shorter than a step still drive one.
    if (!first && until_ns != UINT64_MAX && system_.now_ns() >= until_ns) {
      in_time = false;
      break;
    }
    if (!lock->is_driven && lock->has_work()) {
      drive(lock, limits);
      tell_hosts(lock);
      continue;
    }
    uint64_t wake_ns = until_ns;
    if (request != nullptr) wake_ns = std::min(wake_ns, request->deadline_ns);
    sleep(lock, wake, request == nullptr, wake_ns);
    tell_hosts(lock);  // for tokens that another engine's thread finished
  }
  tell_hosts(lock);
  hand_over(lock);
  return in_time;
}

void Engine::sleep(Lock& lock, Wake& wake, bool serves, uint64_t until_ns) {
  State& state = *lock;
  until_ns = std::min(until_ns, end_late_reads(state));
  if (!state.is_driven && state.has_work()) return;  // such a request goes on
  Waiter waiter{&wake, serves, nullptr, state.last_waiter};
  (state.last_waiter != nullptr ? state.last_waiter->next : state.first_waiter) = &waiter;
  state.last_waiter = &waiter;
  uint64_t timeout_ns = Wake::kForever;
  if (until_ns != UINT64_MAX) {
    const uint64_t now = system_.now_ns();
    // Never 0: for a deadline in the past, waits for the step to notice it.
    timeout_ns = until_ns > now ? until_ns - now : 1'000'000;
  }
  lock.unlock();
  wake.wait(timeout_ns);
  lock.lock();
  (waiter.previous != nullptr ? waiter.previous->next : state.first_waiter) = waiter.next;
  (waiter.next != nullptr ? waiter.next->previous : state.last_waiter) = waiter.previous;
  end_late_reads(state);
}

/// Lets requests go on that have waited for the store as long as computing takes, and ends those
/// that were stopped meanwhile. Returns when the next one is to be looked at.
uint64_t Engine::end_late_reads(State& state) noexcept {
  uint64_t next_ns = UINT64_MAX;
  if (state.memory.num_reading() == 0) return next_ns;
  const uint64_t now_ns = system_.now_ns();
  state.scheduler.for_each([&](Work& work) {
    auto& request = static_cast<Request&>(work);
    if (request.store_read == nullptr) return;
    if (is_stopped(request)) return end_if_stopped(state, request);
    if (request.store_read->until_ns <= now_ns) return state.memory.stop_reading(request);
    next_ns = std::min({next_ns, request.store_read->until_ns, request.deadline_ns});
  });
  return next_ns;
}

void Engine::hand_over(Lock& lock) noexcept {
  State& state = *lock;
  if (state.is_driven || (state.scheduler.empty() && state.first_to_tell == nullptr)) return;
  // Also if all requests wait for the store: the thread looks after them.
  if (state.first_waiter != nullptr) return state.first_waiter->wake->post();
  if (!state.has_work() && state.first_to_tell == nullptr) return;
  if (state.executor.post == nullptr || state.posted.engine != nullptr) return;
  state.posted = {state.executor.owner, shared_from_this()};
  const uint64_t posting = ++state.num_posted;
  const DriveExecutor executor = state.executor;
  lock.unlock();
  const bool posted = executor.post(executor.user, &Engine::drive_task, this);
  lock.lock();
  // Skipped if another thread has posted since.
  if (!posted && posting == state.num_posted) state.posted = {};
}

bool Engine::is_stopped(const Request& request) const {
  if (is_set(request.cancel)) return true;
  return request.deadline_ns != UINT64_MAX && system_.now_ns() >= request.deadline_ns;
}

void Engine::end_if_stopped(State& state, Request& request) {
  if (request.ended || !is_stopped(request)) return;
  if (request.num_under_way > 0) {
    stop_steps();
    return;
  }
  try {
    if (is_set(request.cancel)) fail(Code::Cancelled, "cancelled");
    fail(Code::Deadline, "the deadline of the request passed");
  } catch (...) {
    end(state, request, std::current_exception());
  }
}

bool Engine::step() {
  check_process();
  Lock lock(state_);
  end_late_reads(*lock);
  if (lock->is_driven || !lock->has_work()) {
    tell_hosts(lock);
    return false;
  }
  drive(lock, {});
  tell_hosts(lock);
  hand_over(lock);
  return true;
}

void Engine::serve() {
  check_process();
  const auto has_stopped = [](void* arg) {
    auto& engine = *static_cast<Engine*>(arg);
    return Lock(engine.state_)->is_stopped;
  };
  Wake wake;
  Lock lock(state_);
  while (!lock->is_stopped) {
    // Returns after each step, so that hosts are notified.
    if (!lock->is_driven && lock->has_work()) {
      drive(lock, {UINT64_MAX, has_stopped, this});
      tell_hosts(lock);
      continue;
    }
    sleep(lock, wake, true, UINT64_MAX);
    tell_hosts(lock);
  }
  hand_over(lock);
}

void Engine::stop() {
  const Lock lock(state_);
  lock->is_stopped = true;
  for (Waiter* waiter = lock->first_waiter; waiter != nullptr; waiter = waiter->next) {
    if (waiter->serves) waiter->wake->post();
  }
}

void Engine::set_executor(const DriveExecutor& executor) {
  Lock lock(state_);
  lock->executor = executor;
  hand_over(lock);
}

void Engine::drive_task(void* arg) {
  auto* engine = static_cast<Engine*>(arg);
  if (!engine->is_of_this_process()) return;  // posted before a fork
  Lock lock(engine->state_);
  const Posted self = std::exchange(lock->posted, {});
  engine->end_late_reads(*lock);
  while (!lock->is_driven && lock->has_work()) {
    engine->drive(lock, {});
    tell_hosts(lock);
  }
  tell_hosts(lock);
  lock.unlock();
}

void Engine::tell_later(State& state, const std::shared_ptr<Generation>& generation) noexcept {
  if (generation->options.notify == nullptr || generation->is_to_be_told) return;
  generation->is_to_be_told = true;
  generation->next_to_tell = std::move(state.first_to_tell);
  state.first_to_tell = generation;
}

void Engine::tell_hosts(Lock& lock) {
  State& state = *lock;
  // A drafter of the host may take long to end.
  while (state.first_spent != nullptr) {
    std::unique_ptr<Speculator> spent = std::move(state.first_spent);
    state.first_spent = std::move(spent->next_spent);
    lock.unlock();
    try {
      if (spent->answers != nullptr) spent->answers->add(spent->salt, spent->answer);
    } catch (...) {
      // The answer is not guessed from.
    }
    spent.reset();
    lock.lock();
  }
  while (state.first_to_tell != nullptr) {
    const std::shared_ptr<Generation> generation = std::move(state.first_to_tell);
    state.first_to_tell = std::move(generation->next_to_tell);
    generation->is_to_be_told = false;
    const auto notify = generation->options.notify;
    if (notify == nullptr) continue;  // silenced meanwhile
    ++generation->num_telling;
    lock.unlock();
    notify(generation->options.user);
    lock.lock();
    --generation->num_telling;
    if (generation->silenced != nullptr) generation->silenced->post();
  }
}

void Engine::silence(Generation& generation) {
  Lock lock(state_);
  generation.options.notify = nullptr;
  Wake wake;
  generation.silenced = &wake;
  while (generation.num_telling > 0) {
    lock.unlock();
    wake.wait();
    lock.lock();
  }
  generation.silenced = nullptr;
}

// ---- Generations --------------------------------------------------------------------------------

void Engine::submit(const std::shared_ptr<Generation>& generation) {
  check_process();
  Lock lock(state_);
  Generation& added = *generation;
  added.submitted_ns = system_.now_ns();
  if (added.options.timeout_ns != 0) {
    added.deadline_ns = added.submitted_ns > UINT64_MAX - added.options.timeout_ns
                            ? UINT64_MAX
                            : added.submitted_ns + added.options.timeout_ns;
  }
  Sequence& sequence = *added.sequence;
  State& state = *lock;
  state.memory.idle().remove(added.control->idle);
  // The logits after the last token are needed, so it is computed, again if necessary.
  sequence.claim_ahead();
  if (sequence.num_pending() == 0) sequence.forget_cached(sequence.size() - 1);
  added.end = sequence.size();
  added.num_left = sequence.num_pending();
  added.reuse.prompt_tokens = sequence.size();
  added.reuse.reused_tokens = sequence.cached();
  added.lost = sequence.lost();
  try {
    added.client = &state.scheduler.client(added.options.client, added.options.weight);
    state.scheduler.add(added, added.submitted_ns);
  } catch (const Error& error) {
    if (error.code() == Code::Busy) ++state.metrics.busy_total;
    state.memory.idle().add(added.control->idle);
    throw;
  } catch (...) {
    state.memory.idle().add(added.control->idle);
    throw;
  }
  // The generation is queued: nothing may throw from here on.
  added.self = generation;
  ++state.metrics.submitted_total;
  hand_over(lock);
}

bool Engine::wait(Generation& generation, uint64_t timeout_ns) {
  check_process();
  Lock lock(state_);
  const uint64_t now = system_.now_ns();
  const uint64_t until_ns = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
  const auto done = [&generation] {
    return generation.ended || generation.num_fetched < generation.tokens.size();
  };
  if (timeout_ns == 0) return done();
  return wait_until(lock, generation.call->wake, &generation, until_ns, done);
}

Engine::Fetched Engine::fetch(Generation& generation) {
  const Lock lock(state_);
  Fetched fetched;
  if (generation.num_fetched < generation.tokens.size()) {
    const uint64_t index = generation.num_fetched++;
    const uint64_t begin = index == 0 ? 0 : generation.text_ends[index - 1];
    fetched.has_token = true;
    fetched.token = generation.tokens[index];
    generation.piece.assign(generation.text, begin, generation.text_ends[index] - begin);
    fetched.text = generation.piece;
    const bool last = generation.ended && generation.num_fetched == generation.tokens.size();
    if (last) fetched.finish = generation.finish;
  } else if (generation.ended) {
    fetched.ended = true;
    fetched.finish = generation.finish;
    fetched.failure = generation.failure;
    if (std::exchange(generation.has_tail, false)) {
      const uint64_t begin = generation.text_ends.empty() ? 0 : generation.text_ends.back();
      generation.piece.assign(generation.text, begin);
      fetched.text = generation.piece;
    }
  }
  return fetched;
}

void Engine::logprobs(const Generation& generation, float& logprob, std::span<Token> top_tokens,
                      std::span<float> top_logprobs) const {
  const Lock lock(state_);
  if (generation.num_fetched == 0) fail(Code::State, "request: no token was fetched yet");
  generation.logprobs.get(generation.num_fetched - 1, logprob, top_tokens, top_logprobs);
}

void Engine::chosen_logprobs(const Generation& generation, std::span<float> logprobs) const {
  const Lock lock(state_);
  if (generation.num_fetched == 0) fail(Code::State, "request: no token was fetched yet");
  generation.logprobs.get_chosen(generation.num_fetched - 1, logprobs);
}

ReuseReport Engine::report(const Generation& generation) const {
  const Lock lock(state_);
  ReuseReport report = generation.reuse;
  if (report.reused_tokens < std::min(generation.lost.positions, report.prompt_tokens)) {
    report.miss = {generation.lost.cause, report.reused_tokens};
  }
  return report;
}

Engine::DraftReport Engine::draft_report(const Generation& generation) const {
  const Lock lock(state_);
  const auto most = std::ranges::max_element(generation.accepted_by);
  const auto source = static_cast<DraftSource>(most - generation.accepted_by.begin());
  return {generation.num_drafted, generation.num_accepted,
          generation.accepted_by[static_cast<size_t>(DraftSource::Prediction)],
          *most > 0 ? source : DraftSource::None};
}

std::unique_ptr<Speculator> Engine::make_speculator(const GuessedText& text) {
  const Speculation mode = text.mode.value_or(options_.speculation);
  // A device with a queue begins steps before tokens are known, which saves more than guesses.
  const bool has_queue = steps_.overlap();
  if (mode == Speculation::Off || (mode == Speculation::Auto && has_queue)) return nullptr;
  const uint32_t most = std::min(model_->options().draft_max, text.most);
  if (most == 0) return nullptr;
  auto speculator = std::make_unique<Speculator>(mode, model_->spec().vocab, most);
  const DrafterFactory make_drafter = Lock(state_)->make_drafter;
  if (make_drafter) {
    speculator->add(make_drafter());
    return speculator;
  }
  if (!text.prediction.empty()) {
    speculator->add(
        std::make_shared<PredictionDrafter>(share_prediction(text.prediction), text.prompt_size));
  }
  speculator->add(std::make_shared<TextDrafter>(text.context));
  if (options_.answer_bytes > 0) {
    speculator->add(std::make_shared<AnswersDrafter>(answers_->of(text.salt)));
    speculator->answers = answers_;
    speculator->salt = text.salt;
  }
  if (blocks_ != nullptr && text.prompt_size > 0) {
    speculator->draft = blocks_->begin_text(text.context);
  }
  if (drafts_ != nullptr) {
    speculator->draft = drafts_->begin_text(text.context, text.salt);
  }
  return speculator;
}

std::shared_ptr<const Prediction> Engine::share_prediction(std::span<const Token> tokens) {
  std::shared_ptr<const Prediction> shared = Lock(state_)->latest_prediction.lock();
  if (shared != nullptr && std::ranges::equal(shared->tokens(), tokens)) return shared;
  shared = std::make_shared<const Prediction>(tokens);
  Lock(state_)->latest_prediction = shared;
  return shared;
}

void Engine::set_drafters(DrafterFactory make_drafter) {
  const Lock lock(state_);
  lock->make_drafter = std::move(make_drafter);
}

void Engine::cancel(Generation& generation) {
  Lock lock(state_);
  if (generation.ended) return;
  generation.call->cancel.set();
  end_if_stopped(*lock, generation);
  generation.call->wake.post();
  tell_hosts(lock);
}

void Engine::withdraw(Generation& generation) {
  Lock lock(state_);
  if (generation.ended) return;
  generation.call->cancel.set();
  Generation::Withdrawal own{.next = generation.withdrawals};
  generation.withdrawals = &own;
  wait_until(lock, own.wake, &generation, UINT64_MAX, [&generation] { return generation.ended; });
}

EngineMetrics Engine::metrics() const {
  const Lock lock(state_);
  EngineMetrics now = lock->metrics;
  now.waiting = lock->scheduler.num_waiting();
  now.waiting_tokens = lock->scheduler.num_queued_tokens();
  now.running = lock->scheduler.num_running();
  now.queue_room =
      options_.max_queued - std::min(options_.max_queued, lock->scheduler.num_queued());
  now.preempted_total = lock->scheduler.num_preempted();
  now.kv_limit_bytes = options_.cache_bytes;
  pools_.measure(now);
  lock->memory.count(now);
  now.answer_bytes = answers_->bytes();
  const ModelDrafter* const drafter = this->drafter();
  if (drafter == nullptr) return now;
  const DraftStats drafts = drafter->stats();
  now.draft_model_guesses_total = drafts.guessed_tokens;
  now.draft_model_right_total = drafts.right_tokens;
  now.draft_model_tokens_total = drafts.read_tokens;
  now.draft_model_seconds_total = drafts.seconds;
  now.draft_kv_limit_bytes = drafts.kv_limit_bytes;
  now.draft_kv_held_bytes = drafts.kv_held_bytes;
  return now;
}

// ---- Steps --------------------------------------------------------------------------------------

/// Runs a step, unless the limits end the wait for the device's turn.
void Engine::drive(Lock& lock, const DriveLimits& limits) {
  lock->is_driven = true;
  if (drafts_ != nullptr) draft_for_requests(lock, *drafts_, limits.until_ns);
  lock.unlock();
  {
    DeviceTurn::Use use(model_->turn(), left_steps_,
                        {system_, limits.until_ns, nullptr, limits.is_over, limits.arg});
    if (use.has_turn()) run_step(use, limits.until_ns);
  }
  lock.lock();
  lock->is_driven = false;
}

void Engine::run_step(DeviceTurn::Use& use, uint64_t until_ns) noexcept {
  const Turn& turn = use.held();
  on_turn_.of(turn).until_ns = until_ns;
  if (steps_.is_empty(turn)) {
    if (blocks_ != nullptr) {
      Lock lock(state_);
      draft_for_requests(lock, *blocks_, until_ns);
    }
    begin_step(turn);
  }
  if (!steps_.is_empty(turn)) {
    steps_.oldest(turn).start_draws();
    if (!steps_.is_full(turn)) begin_step_ahead(turn);
    finish_oldest(turn);
  }
  // Starts the device's draws before the driver leaves.
  if (!steps_.is_empty(turn)) {
    steps_.oldest(turn).start_draws();
    use.leave_steps(left_steps_);
  }
  pools_.trim(turn);
}

void Engine::finish_steps(const Turn& turn) noexcept {
  while (!steps_.is_empty(turn)) {
    steps_.oldest(turn).start_draws();
    finish_oldest(turn);
  }
  Lock lock(state_);
  // A cancel may have found its request in a step that has ended all the same.
  lock->scheduler.for_each([&](Work& work) { end_if_stopped(*lock, static_cast<Request&>(work)); });
  hand_over(lock);
}

// ---- Filling a step -----------------------------------------------------------------------------

void Engine::begin_step(const Turn& turn) noexcept {
  Step& step = steps_.next(turn);
  {
    const Lock lock(state_);
    const uint64_t start = system_.now_ns();
    step.clear();
    on_turn_.of(turn).clock.is_late = false;
    fill_step(turn, *lock, step, start);
    lock->metrics.schedule_seconds_total += static_cast<double>(system_.now_ns() - start) * 1e-9;
    const bool begins = !step.slices().empty();
    if (begins && !steps_.is_empty(turn)) ++lock->metrics.steps_ahead_total;
  }
  if (step.slices().empty()) return;
  if (!steps_.overlap()) watch_clock(turn, step);
  steps_.start_next(turn);
}

void Engine::fill_step(const Turn& turn, State& state, Step& step, uint64_t now_ns) noexcept {
  state.scheduler.for_each([&](Work& work) { end_if_stopped(state, static_cast<Request&>(work)); });
  end_late_reads(state);
  const uint64_t until_ns = on_turn_.of(turn).until_ns;
  uint32_t beside = state.tuner.beside_tokens();
  uint32_t alone = UINT32_MAX;
  if (until_ns != UINT64_MAX) {
    const uint64_t left_ns = until_ns - std::min(until_ns, now_ns);
    beside = std::min(beside, state.tuner.tokens_within(left_ns, true));
    alone = std::max(kLeastStepTokens, state.tuner.tokens_within(left_ns, false));
  }
  PickMemory memory(turn, state.memory, steps_, state.scheduler, state.step_limit,
                    state.tuner.token_ns(), now_ns);
  std::exception_ptr failure;
  try {
    const std::span<const Pick> picks =
        state.scheduler.pick(now_ns, state.step_limit, beside, memory, alone);
    choose_guesses(turn, state, memory, step, picks);
    for (size_t i = 0; i < picks.size(); ++i) {
      add_to_step(turn, state, step, picks[i], state.num_guesses[i]);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  while (Request* refused = memory.take_refused()) {
    end(state, *refused, std::exchange(refused->failure, nullptr));
  }
  if (failure) return end_one(state, std::move(failure));
  state.scheduler.for_each([&](Work& work) {
    auto& request = static_cast<Request&>(work);
    if (request.failure) return end(state, request, std::exchange(request.failure, nullptr));
    // A request without outputs may have found all its tokens; it is in no step and done.
    const bool is_done = request.num_left == 0 && request.num_under_way == 0;
    if (request.outputs == Outputs::None && is_done) end(state, request, nullptr);
  });
  // Cancels from now on see the step; earlier ones are seen here.
  for (const Slice& slice : step.slices()) {
    if (is_set(slice.request->cancel)) stop_steps();
  }
}

/// True if the next slice of the request is its last token, which guesses may follow.
bool Engine::can_guess(const Request& request) {
  const Sequence& sequence = *request.sequence;
  const bool is_known = request.drawn_row == Request::kNoRow && request.end == sequence.size();
  if (request.num_under_way > 0 || !is_known || request.num_left != 1) return false;
  return speculator_of(request) != nullptr && request.loop != nullptr;
}

/// Guesses of a request whose next slice is its last token; empty without them.
std::span<const Token> Engine::guesses_of(const Request& request) {
  if (!can_guess(request)) return {};
  if (request.generation == nullptr) return request.guesses;
  return speculator_of(request)->guesses(request.sequence->size());
}

const Speculator* Engine::speculator_of(const Request& request) {
  return request.generation == nullptr ? request.guessed_by : request.generation->speculator.get();
}

/// Sets the number of guesses of each pick: in the order of their worth, while they pay and free
/// memory has room.
void Engine::choose_guesses(const Turn& turn, State& state, PickMemory& memory, Step& step,
                            std::span<const Pick> picks) {
  state.num_guesses.assign(picks.size(), 0);
  state.guesses.clear();
  state.guess_values.clear();
  GuessPricer::Beside beside;
  uint32_t num_tokens = 0;
  uint32_t num_rows = 0;
  for (uint32_t i = 0; i < picks.size(); ++i) {
    const auto& request = static_cast<const Request&>(*picks[i].work);
    num_tokens += picks[i].num_tokens;
    num_rows += request.num_outputs(picks[i].num_tokens);
    (request.is_decode() ? beside.decodes : beside.prompt_tokens) += picks[i].num_tokens;
    const std::span<const Token> guesses = guesses_of(request);
    if (guesses.empty()) continue;
    const Speculator& speculator = *speculator_of(request);
    for (uint32_t j = 0; j < guesses.size(); ++j) {
      if (speculator.mode() == Speculation::Forced) {
        ++state.num_guesses[i];
      } else {
        state.guesses.push_back({speculator.values()[j], i, j});
      }
    }
  }
  if (!state.guesses.empty()) {
    std::sort(state.guesses.begin(), state.guesses.end(),
              [](const State::Guess& a, const State::Guess& b) {
                if (a.value != b.value) return a.value > b.value;
                return a.pick != b.pick ? a.pick < b.pick : a.index < b.index;
              });
    for (const State::Guess& guess : state.guesses) state.guess_values.push_back(guess.value);
    beside.prompt_token_ns = state.tuner.token_ns();
    beside.most_ns = static_cast<double>(options_.max_stall_ns);
    const uint64_t until_ns = on_turn_.of(turn).until_ns;
    if (until_ns != UINT64_MAX) {
      const uint64_t now_ns = system_.now_ns();
      const auto left = static_cast<double>(std::max(until_ns, now_ns + 1) - now_ns);
      beside.most_ns = beside.most_ns == 0 ? left : std::min(beside.most_ns, left);
    }
    const uint32_t chosen = state.pricer.choose(state.guess_values, beside);
    for (uint32_t i = 0; i < chosen; ++i) ++state.num_guesses[state.guesses[i].pick];
  }
  uint32_t room = std::min(state.step_limit, step.max_tokens());
  room -= std::min(room, num_tokens);
  uint32_t num_wanted = 0;
  for (const uint32_t count : state.num_guesses) num_wanted += std::min(count, room);
  num_wanted = std::min(num_wanted, room);
  // Their rows may be refused memory: the step is computed without guesses then.
  if (num_wanted > 0 && !step.make_rows(num_rows + num_wanted)) room = 0;
  for (size_t i = 0; i < picks.size(); ++i) {
    if (state.num_guesses[i] == 0) continue;
    auto& request = static_cast<Request&>(*picks[i].work);
    const uint32_t wanted = std::min(state.num_guesses[i], room);
    uint32_t count = request.sequence->guess_limit(1 + wanted) - 1;
    while (count > 0 && !memory.reserve_guesses(request, 1, count)) {
      count = request.failure ? 0 : count / 2;
    }
    state.num_guesses[i] = count;
    room -= count;
  }
}

/// Notes the failure of a request that cannot be added; the others are computed without it.
void Engine::add_to_step(const Turn& turn, State&, Step& step, const Pick& pick,
                         uint32_t num_guesses) noexcept {
  auto& request = static_cast<Request&>(*pick.work);
  try {
    if (request.failure) std::rethrow_exception(std::exchange(request.failure, nullptr));
    const std::span<const Token> guesses =
        num_guesses == 0 ? std::span<const Token>() : guesses_of(request).first(num_guesses);
    step.add(request, pick.num_tokens, guesses);
  } catch (...) {
    Scheduler::take_back(pick);
    steps_.let_go_of(turn, request);
    request.sequence->roll_back();
    request.failure = std::current_exception();
    return;
  }
  request.sequence->begin(pick.num_tokens + num_guesses);
  request.num_left -= pick.num_tokens;
  request.drawn_row = Request::kNoRow;
  const bool is_first = request.num_under_way++ == 0;
  if (is_first && request.control != nullptr) request.control->in_step.fetch_add(1);
}

/// Ends the oldest request outside steps: a step that cannot be filled must not be begun again for
/// the same requests.
void Engine::end_one(State& state, std::exception_ptr failure) noexcept {
  Request* oldest = nullptr;
  state.scheduler.for_each([&oldest](Work& work) {
    auto& request = static_cast<Request&>(work);
    if (oldest == nullptr && request.num_under_way == 0) oldest = &request;
  });
  if (oldest == nullptr) return;
  oldest->sequence->roll_back();
  end(state, *oldest, std::move(failure));
}

/// Begins the next step while the oldest runs, with tokens that are known or will be drawn by the
/// device.
void Engine::begin_step_ahead(const Turn& turn) noexcept {
  Step& running = steps_.oldest(turn);
  if (name_drawn_tokens(*Lock(state_), running)) begin_step(turn);
  running.prepare_masks();
}

/// Continues requests whose next token the device draws, before the token is known. Returns false
/// if most requests wait for a token that the host draws: a step without them would only delay
/// them.
bool Engine::name_drawn_tokens(State&, Step& step) {
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

void Engine::watch_clock(const Turn& turn, const Step& step) noexcept {
  OnTurn& own = on_turn_.of(turn);
  if (own.until_ns == UINT64_MAX || step.num_prompt_tokens() <= kLeastStepTokens) return;
  const uint64_t wanted_ns = std::max(own.until_ns, system_.now_ns());
  own.clock.late_ns = wanted_ns + std::min(kOverrunNs, UINT64_MAX - wanted_ns);
  model_->team().set_watch({&StepClock::look, &own.clock});
}

void Engine::StepClock::look(void* arg) noexcept {
  auto& clock = *static_cast<StepClock*>(arg);
  if (clock.system.now_ns() < clock.late_ns) return;
  clock.is_late = true;
  clock.steps.stop();
}

// ---- Settling a step ----------------------------------------------------------------------------

void Engine::finish_oldest(const Turn& turn) noexcept {
  OnTurn& own = on_turn_.of(turn);
  Step& step = steps_.oldest(turn);
  // A step that ended while no thread looked has no measured duration.
  const bool was_seen = !steps_.overlap() || !step.has_ended();
  step.finish(++own.first_draw, steps_.has_one(turn));
  if (!steps_.has_one(turn)) steps_.second(turn).note_end_of(step);
  if (!steps_.overlap()) model_->team().set_watch({});
  const uint64_t end_ns = system_.now_ns();
  const uint64_t step_ns = end_ns - std::max(step.started_ns(), own.step_end_ns);
  own.step_end_ns = end_ns;
  const Lock lock(state_);
  settle(turn, *lock, step, step_ns, was_seen);
  steps_.pop(turn);
}

void Engine::settle(const Turn& turn, State& state, Step& step, uint64_t step_ns, bool was_seen) {
  const uint64_t start = system_.now_ns();
  ++state.metrics.steps_total;
  state.metrics.logits_rows_total += step.num_rows();
  state.metrics.step_seconds_total += static_cast<double>(step_ns) * 1e-9;
  const uint32_t most = step.max_tokens();
  if (step.was_stopped()) {
    ++state.metrics.steps_stopped_total;
    if (on_turn_.of(turn).clock.is_late) {
      state.tuner.observe_overrun(step.num_prompt_tokens(), step_ns);
    } else {
      state.step_limit = std::max(state.step_limit / 2, std::min(kLeastStepTokens, most));
    }
  } else if (!step.was_dropped()) {
    state.step_limit = std::min(2 * state.step_limit, most);
    const uint32_t prompts = step.num_prompt_tokens();
    const uint32_t decodes = step.num_decodes();
    const uint32_t guesses = step.num_guesses();
    if (was_seen && prompts == 0) state.pricer.observe(decodes + guesses, step_ns);
    // A guess costs what a prompt token does.
    if (was_seen && (prompts > 0 || guesses == 0)) {
      state.tuner.observe(decodes, prompts + guesses, step_ns);
    }
    state.metrics.decode_tokens_total += decodes;
    state.metrics.prompt_tokens_total += prompts;
  }
  const bool goes_again = step.was_stopped() || step.was_dropped();
  for (Slice& slice : step.slices()) settle_slice(turn, state, slice, goes_again);
  state.metrics.schedule_seconds_total += static_cast<double>(system_.now_ns() - start) * 1e-9;
}

/// A step that runs again computed nothing and failed no request.
void Engine::settle_slice(const Turn& turn, State& state, Slice& slice, bool goes_again) {
  if (slice.request == nullptr) return;
  Request& request = *slice.request;
  const bool is_as_drawn = slice.is_as_drawn();
  slice.request = nullptr;
  const bool was_last = --request.num_under_way == 0;
  if (was_last && request.control != nullptr) request.control->in_step.fetch_sub(1);
  if (goes_again || slice.failure) {
    steps_.let_go_of(turn, request);
    request.sequence->roll_back();
    request.restart();
    if (goes_again) Scheduler::take_back({&request, slice.num_tokens});
    if (slice.failure) return end(state, request, std::move(slice.failure));
    return end_if_stopped(state, request);  // or it runs again
  }
  commit(state, request, slice);
  try {
    // First, since a refused share ends the request.
    Generation* const generation = request.generation;
    const bool any = generation != nullptr && hand_out_settled(state, *generation);
    state.memory.share_blocks(request);
    if (!slice.completes) return;
    if (slice.draw_failure) return end_now(turn, state, request, std::move(slice.draw_failure));
    // A following step with another token is discarded.
    if (!is_as_drawn) steps_.let_go_of(turn, request);
    if (generation == nullptr) {
      if (slice.is_put_off) return compute_next(state, request);
      return end_now(turn, state, request, nullptr);
    }
    if (any && generation->finish != Finish::None) return end_now(turn, state, request, nullptr);
    if (slice.is_put_off || !generation->loop->is_open()) {
      compute_next(state, request);
    } else {
      take_drawn(turn, state, *generation);
    }
    if (!any || generation->ended) return;
    generation->control->wake.post();
    tell_later(state, generation->self);
  } catch (...) {
    end_now(turn, state, request, std::current_exception());
  }
}

/// Ends the slice in the sequence, with its guesses.
void Engine::commit(State& state, Request& request, const Slice& slice) {
  Sequence& sequence = *request.sequence;
  const auto num_guesses = static_cast<uint32_t>(slice.guesses.size());
  // The rest of tokens that come again is a decode, too.
  if (slice.completes) request.decode_tokens = 1;
  request.num_guessed = num_guesses;
  if (num_guesses == 0) return sequence.commit(slice.num_tokens, slice.text_size);
  ++state.metrics.drafts_total;
  state.metrics.drafted_tokens_total += num_guesses;
  if (request.generation == nullptr) return sequence.commit_ahead(slice.guesses);
  Generation& generation = *request.generation;
  generation.num_drafted += num_guesses;
  generation.num_accepted += slice.num_right;
  for (size_t i = 0; i < kDraftSources; ++i) {
    generation.accepted_by[i] += slice.right_by[i];
    state.metrics.accepted_by[i] += slice.right_by[i];
  }
  state.metrics.accepted_tokens_total += slice.num_right;
  Scheduler::charge_more(request, slice.num_right);
  sequence.commit_guessed(slice.num_tokens + num_guesses, slice.num_tokens + slice.num_right,
                          slice.text_size);
  // Tokens whose state was dropped come again as one slice.
  if (!sequence.can_go_back())
    request.decode_tokens = std::max<uint64_t>(sequence.num_pending(), 1);
}

/// Hands out what was settled while the step drew. Returns true if there was a piece.
bool Engine::hand_out_settled(State& state, Generation& generation) {
  generation.logprobs.keep_staged();
  uint64_t begin = 0;
  const std::string_view text = generation.settled_text;
  for (const Generation::Settled& one : generation.settled) {
    hand_out(state, generation,
             {one.token, one.finish, text.substr(begin, one.text_end - begin), true});
    begin = one.text_end;
  }
  const bool any = !generation.settled.empty();
  generation.settled.clear();
  generation.settled_text.clear();
  return any;
}

void Engine::take_drawn(const Turn& turn, State& state, Generation& generation) {
  AnswerLoop& loop = *generation.loop;
  Sequence& sequence = *generation.sequence;
  loop.settle(sequence, [&sequence](uint64_t size) { sequence.truncate(size); });
  if (loop.has_token()) {
    generation.logprobs.keep();
  } else {
    generation.logprobs.take_back(generation.tokens.size() + loop.num_held());
  }
  bool any = false;
  for (; loop.has_piece(); any = true) hand_out(state, generation, loop.take_piece());
  if (generation.finish != Finish::None) return end_now(turn, state, generation, nullptr);
  compute_next(state, generation);
  if (!any) return;
  generation.control->wake.post();
  tell_later(state, generation.self);
}

void Engine::hand_out(State& state, Generation& generation, const AnswerPiece& piece) {
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
    state.metrics.first_token.add(now - generation.submitted_ns);
  } else {
    state.metrics.token_gap.add(now - generation.latest_token_ns);
  }
  generation.latest_token_ns = now;
  ++state.metrics.generated_tokens_total;
}

void Engine::compute_next(State&, Request& request) {
  Sequence& sequence = *request.sequence;
  // After removed tokens or a deferred draw, the logits of the last token are needed again.
  if (sequence.num_pending() == 0) sequence.forget_cached(sequence.size() - 1);
  request.end = sequence.size();
  // A step under way may compute it already.
  request.num_left = sequence.size() - sequence.begun();
  request.drawn_row = Request::kNoRow;
}

void Engine::end_now(const Turn& turn, State& state, Request& request,
                     std::exception_ptr failure) noexcept {
  steps_.let_go_of(turn, request);
  end(state, request, std::move(failure));
}

/// Drops tokens that were settled and not handed out.
void Engine::drop_settled(Generation& generation) noexcept {
  Sequence& sequence = *generation.sequence;
  const uint64_t handed_out = generation.reuse.prompt_tokens + generation.tokens.size();
  if (sequence.size() > handed_out) sequence.truncate(handed_out);
  generation.settled.clear();
  generation.settled_text.clear();
}

/// Requires that no step under way has the request.
void Engine::end(State& state, Request& request, std::exception_ptr failure) noexcept {
  state.scheduler.remove(request);
  state.memory.stop_reading(request);
  // A refused request is listed.
  if (request.idle != nullptr) state.memory.idle().remove(*request.idle);
  request.failure = std::move(failure);
  request.ended = true;
  if (request.generation != nullptr && !request.loop->is_fresh()) {
    // Tokens that were not handed out are not part of the text.
    request.sequence->truncate(std::min(request.sequence->size(), request.loop->held_begin()));
    request.loop->drop_held();
  }
  if (request.generation != nullptr) drop_settled(*request.generation);
  if (request.idle != nullptr) state.memory.idle().add(*request.idle);
  if (request.control != nullptr) request.control->wake.post();
  if (request.generation == nullptr) return;
  Generation& generation = *request.generation;
  if (generation.speculator != nullptr) {
    try {
      if (generation.speculator->answers != nullptr) {
        generation.speculator->answer = generation.tokens;
      }
    } catch (...) {
      // The answer is not guessed from.
    }
    generation.speculator->next_spent = std::move(state.first_spent);
    state.first_spent = std::move(generation.speculator);
  }
  const std::shared_ptr<Generation> self = std::move(generation.self);
  state.metrics.whole_request.add(system_.now_ns() - generation.submitted_ns);
  uint64_t* counter = &state.metrics.finished_total;
  if (generation.failure) {
    counter = &state.metrics.failed_total;
    try {
      std::rethrow_exception(generation.failure);
    } catch (const Error& error) {
      if (error.code() == Code::Cancelled) {
        counter = &state.metrics.cancelled_total;
        // The flag was meant for this call.
        generation.call->cancel.clear();
      }
      if (error.code() == Code::Deadline) counter = &state.metrics.expired_total;
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
  if (self != nullptr) tell_later(state, self);
}

// ---- Snapshots and unused memory ----------------------------------------------------------------

uint64_t Engine::snapshot_position(CallControl& session) {
  return with_sequence(session, [&session] { return session.idle.sequence->snapshot_position(); });
}

bool Engine::read_piece(const Sequence& sequence, const SnapshotPiece& piece,
                        std::span<std::byte> out) {
  // The thread that holds the turn may take blocks of idle sequences.
  const DeviceTurn::Access turn(model_->turn());
  return tenon::read_piece(turn.held(), pools(), sequence, piece, out);
}

bool Engine::write_piece(CallControl& session, const SnapshotPiece& piece,
                         std::span<const std::byte> values) {
  const DeviceTurn::Access turn(model_->turn());
  const Lock lock(state_);
  const IdleSequences::Away away(lock->memory.idle(), session.idle);
  Sequence& sequence = *session.idle.sequence;
  if (sequence.cached() != piece.index * block_tokens()) return false;
  const std::vector<uint64_t> blocks = piece_blocks(pools(), piece);
  if (!lock->memory.make_room(turn.held(), lock->scheduler, blocks)) return false;
  tenon::write_piece(turn.held(), pools(), sequence, piece, values);
  return true;
}

void Engine::end_restore(CallControl& session) {
  with_sequence(session, [&session] {
    Sequence& sequence = *session.idle.sequence;
    sequence.forget_cached(sequence.cached());
  });
}

const SnapshotIdentity& Engine::snapshot_identity() {
  const std::scoped_lock lock(identity_mutex_);
  if (!identity_) identity_ = tenon::snapshot_identity(*model_);
  return *identity_;
}

void Engine::release_unused() noexcept {
  const DeviceTurn::Access turn(model_->turn(), std::try_to_lock);
  if (turn.has_turn()) pools_.trim(turn.held());
}

}  // namespace tenon
