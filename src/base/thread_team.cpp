#include "base/thread_team.h"

#include <chrono>
#include <new>

#include "base/error.h"
#include "base/fp_env.h"
#include "base/process_id.h"

namespace tenon {
namespace {

// Only touched pages count, and kernels keep their scratch elsewhere.
constexpr uint64_t kWorkerStackBytes = uint64_t{512} << 10;

// A futex wake takes 5-50 us until the sleeper runs; a phase of a small model takes about as long.
constexpr uint64_t kSpinNs = 40'000;
// Reading the clock costs as much as this many pauses.
constexpr int kPausesPerClockRead = 32;

inline void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Marks the team as running; releases it when the run ends or throws.
class RunGuard {
 public:
  explicit RunGuard(std::atomic<bool>& running) : running_(running) {
    if (running_.exchange(true, std::memory_order_acquire)) {
      fail(Code::State, "thread team: a run is already under way");
    }
  }
  ~RunGuard() { running_.store(false, std::memory_order_release); }
  RunGuard(const RunGuard&) = delete;
  RunGuard& operator=(const RunGuard&) = delete;

 private:
  std::atomic<bool>& running_;
};

void check_num_threads(uint32_t num_threads) {
  if (num_threads == 0 || num_threads > ThreadTeam::kMaxThreads) {
    fail(Code::Argument, "threads: {} is outside 1..{}", num_threads, ThreadTeam::kMaxThreads);
  }
}

}  // namespace

ThreadTeam::ThreadTeam(uint32_t num_threads, std::shared_ptr<System> system, uint32_t cpus)
    : system_(std::move(system)), num_threads_(num_threads), owner_pid_(process_id()) {
  check_num_threads(num_threads);
  // A spinning thread would keep the thread it waits for off a CPU if threads outnumber CPUs.
  if (cpus == 0) cpus = system_->num_usable_cpus();
  if (num_threads <= cpus) spin_ns_ = kSpinNs;
}

ThreadTeam::ThreadTeam(const Executor& executor)
    : executor_(executor), num_threads_(executor.concurrency), owner_pid_(process_id()) {
  if (executor.run == nullptr) fail(Code::Argument, "executor: run is null");
  check_num_threads(num_threads_);
}

ThreadTeam::~ThreadTeam() {
  // A forked child lacks the threads: it has nothing to stop or join.
  if (workers_.empty() || process_id() != owner_pid_) return;
  stopping_ = true;
  publish((word_.load(std::memory_order_relaxed) + 2) & ~1u);
  for (const auto& worker : workers_) system_->join_thread(worker->thread);
}

bool ThreadTeam::run(const Phases& job) {
  if (process_id() != owner_pid_) {
    fail(Code::State, "thread team: made before fork(), cannot run in the child process");
  }
  const RunGuard guard(running_);
  if (executor_.run != nullptr) return run_on_executor(job);
  if (num_threads_ == 1) return run_alone(job);
  if (!started_) start_workers();
  if (workers_.empty()) return run_alone(job);

  if (job.num_phases == 0) return true;
  const ScopedFpEnv fp_env;
  if (!may_start(job, 0)) return false;
  job_ = job;
  phase_ = 0;
  uint32_t seen = (word_.load(std::memory_order_relaxed) + 2) & ~1u;
  publish(seen);
  while ((seen & 1u) == 0) seen = run_phase(0, seen);
  return completed_;
}

void ThreadTeam::start_workers() {
  workers_.reserve(num_threads_ - 1);
  // Workers start with the current word, before the first job is published.
  for (uint32_t index = 1; index < num_threads_; ++index) {
    std::unique_ptr<Worker> worker(new (std::nothrow) Worker{this, index, {}});
    if (worker == nullptr ||
        system_->start_thread(worker->thread, kWorkerStackBytes, worker_entry, worker.get()) != 0) {
      break;
    }
    workers_.push_back(std::move(worker));
  }
  num_threads_ = static_cast<uint32_t>(workers_.size()) + 1;
  started_ = true;
}

void* ThreadTeam::worker_entry(void* arg) {
  const auto* worker = static_cast<const Worker*>(arg);
  const ScopedFpEnv fp_env;  // a new thread inherits the environment of its creator
  worker->team->work(worker->index);
  return nullptr;
}

void ThreadTeam::work(uint32_t index) {
  uint32_t seen = 1;  // the initial word: a worker is created before the first change
  for (;;) {
    while ((seen & 1u) != 0) seen = wait_for_change(seen);
    if (stopping_) return;
    seen = run_phase(index, seen);
  }
}

// Runs the phase published with word `seen` as thread `index`; returns the next word.
uint32_t ThreadTeam::run_phase(uint32_t index, uint32_t seen) {
  job_.phase(job_.arg, phase_, index, num_threads_);
  const bool last_to_arrive =
      num_arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == num_threads_;
  return last_to_arrive ? finish_phase(seen) : wait_for_change(seen);
}

// The last thread to arrive decides the next step while the others wait. No other thread touches
// job_ or phase_ until the new word is published. A worker that sleeps through the end of a run
// wakes in the first phase of the next run: no run passes a phase without every worker.
uint32_t ThreadTeam::finish_phase(uint32_t seen) {
  num_arrived_.store(0, std::memory_order_relaxed);
  const bool last = phase_ + 1 == job_.num_phases;
  const bool go_on = !last && may_start(job_, phase_ + 1);
  if (go_on) {
    ++phase_;
  } else {
    completed_ = last;
  }
  const uint32_t word = (seen + 2) | (go_on ? 0u : 1u);
  publish(word);
  return word;
}

void ThreadTeam::publish(uint32_t word) {
  // Sequentially consistent: a look for sleepers before the store would miss a thread that is
  // falling asleep.
  word_.store(word, std::memory_order_seq_cst);
  if (num_sleeping_.load(std::memory_order_seq_cst) > 0) futex_wake_all(word_);
}

uint32_t ThreadTeam::wait_for_change(uint32_t seen) {
  uint32_t word = word_.load(std::memory_order_acquire);
  if (word == seen && spin_ns_ > 0) {
    // The host's clock may stand still or be slow to read.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(spin_ns_);
    do {
      for (int i = 0; i < kPausesPerClockRead && word == seen; ++i) {
        pause_cpu();
        word = word_.load(std::memory_order_acquire);
      }
    } while (word == seen && std::chrono::steady_clock::now() < deadline);
  }
  if (word != seen) return word;
  num_sleeping_.fetch_add(1, std::memory_order_seq_cst);
  while ((word = word_.load(std::memory_order_seq_cst)) == seen) futex_wait(word_, seen);
  num_sleeping_.fetch_sub(1, std::memory_order_relaxed);
  return word;
}

bool ThreadTeam::may_start(const Phases& job, uint32_t phase) const {
  if (watch_.look != nullptr) watch_.look(watch_.arg);
  return job.before_phase == nullptr || job.before_phase(job.arg, phase);
}

bool ThreadTeam::run_alone(const Phases& job) {
  const ScopedFpEnv fp_env;
  for (uint32_t phase = 0; phase < job.num_phases; ++phase) {
    if (!may_start(job, phase)) return false;
    job.phase(job.arg, phase, 0, 1);
  }
  return true;
}

bool ThreadTeam::run_on_executor(const Phases& job) {
  struct Task {
    const Phases* job;
    uint32_t phase;
    uint32_t num_threads;
    std::atomic<uint32_t> num_done;
  };
  Task task{&job, 0, num_threads_, 0};
  const auto run_task = [](void* arg, uint32_t index) {
    auto& self = *static_cast<Task*>(arg);
    const ScopedFpEnv fp_env;
    self.job->phase(self.job->arg, self.phase, index, self.num_threads);
    self.num_done.fetch_add(1, std::memory_order_release);
  };
  const auto go_on = [this, &job](uint32_t phase) {
    const ScopedFpEnv fp_env;
    return may_start(job, phase);
  };
  for (uint32_t phase = 0; phase < job.num_phases; ++phase) {
    if (!go_on(phase)) return false;
    task.phase = phase;
    task.num_done.store(0, std::memory_order_relaxed);
    executor_.run(executor_.user, num_threads_, run_task, &task);
    const uint32_t num_done = task.num_done.load(std::memory_order_acquire);
    if (num_done != num_threads_) {
      fail(Code::State, "executor: ran {} of {} tasks", num_done, num_threads_);
    }
  }
  return true;
}

}  // namespace tenon
