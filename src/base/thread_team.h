// Threads owned by the object that computes with them, and the meeting points between the phases of
// its work. What is computed, and how it is split, is the caller's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/system.h"

namespace tenon {

/// A host's own threads. `run` calls task(arg, i) once for each i in [0, num_tasks), in any order,
/// side by side or one after another, and returns when all are done.
struct Executor {
  void* user = nullptr;
  uint32_t concurrency = 0;  ///< into how many tasks a phase is split; 1..kMaxThreads
  void (*run)(void* user, uint32_t num_tasks, void (*task)(void* arg, uint32_t index),
              void* arg) = nullptr;
};

/// Work in phases: no thread starts a phase before every thread has ended the one before.
struct Phases {
  uint32_t num_phases = 0;
  /// Thread `thread` of `num_threads` does its part of `phase`.
  void (*phase)(void* arg, uint32_t phase, uint32_t thread,
                uint32_t num_threads) noexcept = nullptr;
  /// Optional: called by exactly one thread (any of them) before `phase` while the others wait;
  /// false ends the run there. Everything done in earlier phases is visible to it, and what it does
  /// to the phase.
  bool (*before_phase)(void* arg, uint32_t phase) noexcept = nullptr;
  void* arg = nullptr;
};

/// A run costs one fork-join and one barrier between two phases. Waiting threads spin for a bounded
/// while (none when there are more threads than CPUs), then sleep; an idle team uses no CPU.
///
/// Phases, and what is called before them, run with the default floating-point environment (round to nearest, no flush to
/// zero), whatever the host has set; the caller's environment is restored afterwards. Signals stay
/// with the host: our threads block them all.
///
/// One run at a time: a second one meanwhile, from another thread or from inside a phase, throws
/// State. In the child of a fork, which has no such threads, run() throws State.
class ThreadTeam {
 public:
  static constexpr uint32_t kMaxThreads = 1024;

  /// A team of own threads, the caller of run() among them; they start at the first run. If the
  /// system refuses some of them, the team goes on with fewer. Throws Argument outside
  /// 1..kMaxThreads.
  ///   cpus  number of CPUs for the team; 0: all that the process may use
  explicit ThreadTeam(uint32_t num_threads, std::shared_ptr<System> system = System::real(),
                      uint32_t cpus = 0);
  /// A team on the host's threads: one call of executor.run per phase.
  explicit ThreadTeam(const Executor& executor);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Runs all phases and returns true, or false when before_phase ended the run early.
  bool run(const Phases& job);

  /// Is called before each phase of the runs to come, by one thread while the others wait, so that
  /// the caller of run() can look at a clock meanwhile. To be set between runs.
  struct Watch {
    void (*look)(void* arg) noexcept = nullptr;
    void* arg = nullptr;
  };
  void set_watch(const Watch& watch) { watch_ = watch; }

  /// The num_threads that phases see, at most; fewer when threads could not be started.
  [[nodiscard]] uint32_t num_threads() const { return num_threads_; }

 private:
  struct Worker {
    ThreadTeam* team;
    uint32_t index;
    pthread_t thread;
  };

  void start_workers();
  static void* worker_entry(void* arg);
  void work(uint32_t index);
  uint32_t run_phase(uint32_t index, uint32_t seen);
  uint32_t finish_phase(uint32_t seen);
  void publish(uint32_t word);
  uint32_t wait_for_change(uint32_t seen);
  bool may_start(const Phases& job, uint32_t phase) const;
  bool run_alone(const Phases& job);
  bool run_on_executor(const Phases& job);

  std::shared_ptr<System> system_;
  Executor executor_;
  uint32_t num_threads_;
  uint64_t spin_ns_ = 0;
  int owner_pid_;
  bool started_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> running_{false};

  // Written by the one thread that publishes, read by the others after they saw the new word.
  Phases job_;
  Watch watch_;
  uint32_t phase_ = 0;
  bool completed_ = false;
  bool stopping_ = false;

  // word_ changes at every meeting point; its lowest bit says "no work: wait for the next change".
  alignas(64) std::atomic<uint32_t> word_{1};
  alignas(64) std::atomic<uint32_t> num_arrived_{0};
};

}  // namespace tenon
