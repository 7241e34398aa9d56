// Engine: creation, queueing, waiting and driving. engine_step.cpp has the steps.
#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/process_id.h"
#include "model/placed_executable.h"

namespace tenon {
namespace {

/// The next step waits in the device's queue while one runs. A third step would be prepared before
/// the tokens of the first are known.
constexpr uint32_t kMostSteps = 2;

uint32_t step_tokens_of(const Model& model, const EngineOptions& options) {
  const uint32_t most = model.program().view().max_tokens;
  return options.step_tokens == 0 ? most : std::min(options.step_tokens, most);
}

/// One step if table rows come from the file: they are fetched before a step, so its tokens must be
/// known then. One step with an encoder: a device may reorder steps of two programs, and the
/// encoder's must not overtake writes to recycled blocks.
uint32_t steps_under_way(const Model& model) {
  if (model.trunk().fetcher != nullptr || model.find(ProgramRole::Encoder) != nullptr) return 1;
  return std::min(model.executable().steps_under_way(), kMostSteps);
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

/// Pools of each device, within its part of the budget.
std::vector<std::shared_ptr<BlockPool>> make_pools(
    const Model& model, std::vector<std::unique_ptr<DeviceSlabs>>& memory,
    const EngineOptions& options) {
  const PlacedExecutable& executable = model.executable();
  std::vector<BlockPoolOptions> groups = cache_groups(model.program(), executable);
  for (BlockPoolOptions& group : groups) {
    group.state_checkpoints = options.state_checkpoints;
    group.state_checkpoint_tokens = options.state_checkpoint_tokens;
  }
  std::vector<uint32_t> devices;
  const std::vector<DeviceCache> caches = device_caches(groups, executable, &devices);
  const std::vector<uint64_t> budgets = split_cache_budget(
      caches, {model.default_context(), model.program().view().max_tokens, 1}, options.cache_bytes);
  std::vector<std::shared_ptr<BlockPool>> pools;
  for (size_t i = 0; i < caches.size(); ++i) {
    memory.push_back(std::make_unique<DeviceSlabs>(executable.devices()[devices[i]].device));
    const auto own =
        make_block_pools(*memory.back(), caches[i].groups, caches[i].slab_bytes, budgets[i]);
    pools.insert(pools.end(), own.begin(), own.end());
  }
  return pools;
}

}  // namespace

std::shared_ptr<Engine> Engine::create(std::shared_ptr<const Model> model,
                                       const EngineOptions& options) {
  (void)model->executable();  // throws if there is none
  return std::shared_ptr<Engine>(new Engine(std::move(model), options));
}

Engine::Engine(std::shared_ptr<const Model> model, const EngineOptions& options)
    : model_(std::move(model)),
      options_(options),
      system_(*model_->options().system),
      vocab_(model_->spec().vocab),
      owner_pid_(process_id()),
      scheduler_(scheduler_options(*model_, options)),
      idle_(model_->program().groups().size()),
      tuner_(options.decode_stretch, step_tokens_of(*model_, options), options.max_stall_ns),
      step_limit_(step_tokens_of(*model_, options)) {
  pools_ = make_pools(*model_, slab_memory_, options);
  needed_.resize(pools_.size());
  // A decoder's cache depends on its source, which the index does not know.
  const bool has_source = model_->find(ProgramRole::Encoder) != nullptr;
  if (options.prefix_cache && !has_source && pools_.size() <= PrefixIndex::kMaxGroups) {
    index_ = std::make_unique<PrefixIndex>(pools_, random_number(system_));
  }
  const uint32_t num_steps = steps_under_way(*model_);
  for (uint32_t i = 0; i < num_steps; ++i) {
    steps_.push_back(std::make_unique<Step>(*model_, pools_, num_steps == 1));
  }
}

Engine::~Engine() {
  if (!is_of_this_process()) return;  // the thread that holds the turn does not exist here
  const DeviceTurn::Use turn(model_->turn(), *this);  // buffers go back to the device
  // No request waits for these steps.
  for (; num_steps_ > 0; --num_steps_, oldest_step_ = (oldest_step_ + 1) % steps_.size()) {
    step_at(0).finish(0, num_steps_ == 1);
  }
  steps_.clear();
  index_.reset();
  pools_.clear();
}

bool Engine::is_of_this_process() const noexcept { return process_id() == owner_pid_; }

void Engine::check_process() const {
  if (!is_of_this_process()) {
    fail(Code::State, "engine: made before fork(), cannot run in the child process");
  }
}

Hash128 Engine::root_of(std::string_view salt) const {
  return index_ != nullptr ? index_->root(salt) : Hash128{};
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
  Lock lock(mutex_);
  uint64_t num_computed = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    enqueue(requests[i], items[i]);
    num_computed += requests[i].num_left;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    Request& request = requests[i];
    Wake& wake = items[i].control != nullptr ? items[i].control->wake : own;
    wait_until(lock, wake, &request, UINT64_MAX, [&request] { return request.ended; });
    // A request preempted meanwhile may have found its own blocks again.
    num_computed -= std::min(num_computed, request.num_reused);
  }
  for (const Request& request : requests) {
    if (request.failure) std::rethrow_exception(request.failure);
  }
  return num_computed;
}

void Engine::enqueue(Request& request, const BatchItem& item) {
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
  request.num_left = item.end - std::min(item.end, item.sequence->cached());
  if (request.num_left == 0) {
    request.ended = true;
    return;
  }
  try {
    request.client = &scheduler_.client(item.client, item.weight);
    scheduler_.add(request, system_.now_ns());
    if (request.idle != nullptr) idle_.remove(*request.idle);
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
    const std::scoped_lock look(mutex_);
    return done() || (request != nullptr && request->num_under_way == 0 && is_stopped(*request));
  };
  using IsOver = decltype(is_over);
  const DriveLimits limits{until_ns, [](void* arg) { return (*static_cast<IsOver*>(arg))(); },
                           &is_over};
  for (bool first = true; !done(); first = false) {
    if (request != nullptr) end_if_stopped(*request);
    if (done()) break;
    // Skips the first round, so that waits shorter than a step still drive one.
    if (!first && until_ns != UINT64_MAX && system_.now_ns() >= until_ns) {
      in_time = false;
      break;
    }
    if (!driving_ && !scheduler_.empty()) {
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
  Waiter waiter{&wake, serves, nullptr, last_waiter_};
  (last_waiter_ != nullptr ? last_waiter_->next : first_waiter_) = &waiter;
  last_waiter_ = &waiter;
  uint64_t timeout_ns = Wake::kForever;
  if (until_ns != UINT64_MAX) {
    const uint64_t now = system_.now_ns();
    // Never 0: for a deadline in the past, waits for the step to notice it.
    timeout_ns = until_ns > now ? until_ns - now : 1'000'000;
  }
  lock.unlock();
  wake.wait(timeout_ns);
  lock.lock();
  (waiter.previous != nullptr ? waiter.previous->next : first_waiter_) = waiter.next;
  (waiter.next != nullptr ? waiter.next->previous : last_waiter_) = waiter.previous;
}

void Engine::hand_over(Lock& lock) noexcept {
  if (driving_ || (scheduler_.empty() && first_to_tell_ == nullptr)) return;
  if (first_waiter_ != nullptr) return first_waiter_->wake->post();
  if (executor_.post == nullptr || posted_.engine != nullptr) return;
  posted_ = {executor_.owner, shared_from_this()};
  const uint64_t posting = ++num_posted_;
  const DriveExecutor executor = executor_;
  lock.unlock();
  const bool posted = executor.post(executor.user, &Engine::drive_task, this);
  lock.lock();
  // Skipped if another thread has posted since.
  if (!posted && posting == num_posted_) posted_ = {};
}

bool Engine::is_stopped(const Request& request) const {
  if (is_set(request.cancel)) return true;
  return request.deadline_ns != UINT64_MAX && system_.now_ns() >= request.deadline_ns;
}

void Engine::end_if_stopped(Request& request) {
  if (request.ended || !is_stopped(request)) return;
  if (request.num_under_way > 0) {
    stop_steps();
    return;
  }
  try {
    if (is_set(request.cancel)) fail(Code::Cancelled, "cancelled");
    fail(Code::Deadline, "the deadline of the request passed");
  } catch (...) {
    end(request, std::current_exception());
  }
}

bool Engine::step() {
  check_process();
  Lock lock(mutex_);
  if (driving_ || scheduler_.empty()) {
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
    const std::scoped_lock look(engine.mutex_);
    return engine.stopped_;
  };
  Wake wake;
  Lock lock(mutex_);
  while (!stopped_) {
    // Returns after each step, so that hosts are notified.
    if (!driving_ && !scheduler_.empty()) {
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
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  for (Waiter* waiter = first_waiter_; waiter != nullptr; waiter = waiter->next) {
    if (waiter->serves) waiter->wake->post();
  }
}

void Engine::set_executor(const DriveExecutor& executor) {
  Lock lock(mutex_);
  executor_ = executor;
  hand_over(lock);
}

void Engine::drive_task(void* arg) {
  auto* engine = static_cast<Engine*>(arg);
  if (!engine->is_of_this_process()) return;  // posted before a fork
  Lock lock(engine->mutex_);
  const Posted self = std::exchange(engine->posted_, {});
  while (!engine->driving_ && !engine->scheduler_.empty()) {
    engine->drive(lock, {});
    engine->tell_hosts(lock);
  }
  engine->tell_hosts(lock);
  lock.unlock();
}

void Engine::tell_later(const std::shared_ptr<Generation>& generation) noexcept {
  if (generation->options.notify == nullptr || generation->is_to_be_told) return;
  generation->is_to_be_told = true;
  generation->next_to_tell = std::move(first_to_tell_);
  first_to_tell_ = generation;
}

void Engine::tell_hosts(Lock& lock) {
  while (first_to_tell_ != nullptr) {
    const std::shared_ptr<Generation> generation = std::move(first_to_tell_);
    first_to_tell_ = std::move(generation->next_to_tell);
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
  Lock lock(mutex_);
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
  Lock lock(mutex_);
  Generation& added = *generation;
  added.submitted_ns = system_.now_ns();
  if (added.options.timeout_ns != 0) {
    added.deadline_ns = added.submitted_ns > UINT64_MAX - added.options.timeout_ns
                            ? UINT64_MAX
                            : added.submitted_ns + added.options.timeout_ns;
  }
  Sequence& sequence = *added.sequence;
  idle_.remove(added.control->idle);
  // The logits after the last token are needed, so it is computed, again if necessary.
  if (sequence.num_pending() == 0) sequence.forget_cached(sequence.size() - 1);
  added.end = sequence.size();
  added.num_left = sequence.num_pending();
  added.reuse.prompt_tokens = sequence.size();
  added.reuse.reused_tokens = sequence.cached();
  added.lost = sequence.lost();
  try {
    added.client = &scheduler_.client(added.options.client, added.options.weight);
    scheduler_.add(added, added.submitted_ns);
  } catch (const Error& error) {
    if (error.code() == Code::Busy) ++metrics_.busy_total;
    idle_.add(added.control->idle);
    throw;
  } catch (...) {
    idle_.add(added.control->idle);
    throw;
  }
  // The generation is queued: nothing may throw from here on.
  added.self = generation;
  ++metrics_.submitted_total;
  hand_over(lock);
}

bool Engine::wait(Generation& generation, uint64_t timeout_ns) {
  check_process();
  Lock lock(mutex_);
  const uint64_t now = system_.now_ns();
  const uint64_t until_ns = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
  const auto done = [&generation] {
    return generation.ended || generation.num_fetched < generation.tokens.size();
  };
  if (timeout_ns == 0) return done();
  return wait_until(lock, generation.call->wake, &generation, until_ns, done);
}

Engine::Fetched Engine::fetch(Generation& generation) {
  const std::scoped_lock lock(mutex_);
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
  const std::scoped_lock lock(mutex_);
  if (generation.num_fetched == 0) fail(Code::State, "request: no token was fetched yet");
  generation.logprobs.get(generation.num_fetched - 1, logprob, top_tokens, top_logprobs);
}

void Engine::chosen_logprobs(const Generation& generation, std::span<float> logprobs) const {
  const std::scoped_lock lock(mutex_);
  if (generation.num_fetched == 0) fail(Code::State, "request: no token was fetched yet");
  generation.logprobs.get_chosen(generation.num_fetched - 1, logprobs);
}

ReuseReport Engine::report(const Generation& generation) const {
  const std::scoped_lock lock(mutex_);
  ReuseReport report = generation.reuse;
  if (report.reused_tokens < std::min(generation.lost.positions, report.prompt_tokens)) {
    report.miss = {generation.lost.cause, report.reused_tokens};
  }
  return report;
}

void Engine::cancel(Generation& generation) {
  Lock lock(mutex_);
  if (generation.ended) return;
  generation.call->cancel.set();
  end_if_stopped(generation);
  generation.call->wake.post();
  tell_hosts(lock);
}

void Engine::withdraw(Generation& generation) {
  Lock lock(mutex_);
  if (generation.ended) return;
  generation.call->cancel.set();
  Generation::Withdrawal own{.next = generation.withdrawals};
  generation.withdrawals = &own;
  wait_until(lock, own.wake, &generation, UINT64_MAX, [&generation] { return generation.ended; });
}

EngineMetrics Engine::metrics() const {
  const std::scoped_lock lock(mutex_);
  EngineMetrics now = metrics_;
  now.waiting = scheduler_.num_waiting();
  now.waiting_tokens = scheduler_.num_queued_tokens();
  now.running = scheduler_.num_running();
  now.queue_room = options_.max_queued - std::min(options_.max_queued, scheduler_.num_queued());
  now.preempted_total = scheduler_.num_preempted();
  now.kv_limit_bytes = options_.cache_bytes;
  for (PoolRange device{0, 0}; device.end < pools_.size();) {
    device = pools_of_device(pools_, device.end);
    now.kv_held_bytes += pools_[device.first]->slab_pool()->held_bytes();
  }
  for (const auto& pool : pools_) {
    now.kv_used_bytes += pool->num_used() * pool->block_bytes();
    now.kv_shared_bytes += pool->num_idle() * pool->block_bytes();
  }
  if (index_ != nullptr) now.prefix_evicted_total = index_->num_evicted();
  now.idle_blocks_taken_total = idle_.num_taken();
  return now;
}

}  // namespace tenon
