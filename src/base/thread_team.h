// A team of threads that runs work in phases with a barrier between them. Callers define and split
// the work.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/futex.h"
#include "base/system.h"

namespace tenon {

/// A host's own threads. `run` calls task(arg, i) once for each i in [0, num_tasks), in any order,
/// in parallel or not, and returns when all are done.
struct Executor {
  void* user = nullptr;
  uint32_t concurrency = 0;  ///< number of tasks per phase; 1..kMaxThreads
  void (*run)(void* user, uint32_t num_tasks, void (*task)(void* arg, uint32_t index),
              void* arg) = nullptr;
};

/// Work in phases: all threads end a phase before any thread starts the next one.
struct Phases {
  uint32_t num_phases = 0;
  /// Thread `thread` of `num_threads` does its part of `phase`.
  void (*phase)(void* arg, uint32_t phase, uint32_t thread,
                uint32_t num_threads) noexcept = nullptr;
  /// May be null. Called by exactly one thread (any) before `phase`, while the others wait; false
  /// ends the run. Sees all writes of earlier phases; its own writes are visible to `phase`.
  bool (*before_phase)(void* arg, uint32_t phase) noexcept = nullptr;
  void* arg = nullptr;
};

/// A run costs one fork-join and a barrier between phases. Waiting threads spin for a bounded time
/// (not at all with more threads than CPUs), then sleep; an idle team uses no CPU.
/// Phases and before_phase run with the default floating-point environment (round to nearest, no
/// flush to zero), whatever the host has set. The caller's environment is restored afterwards. The
/// team's own threads block all signals.
/// Only one run at a time: run() throws State if called meanwhile, by another thread or inside a
/// phase. In a forked child, which lacks the threads, run() throws State.
class ThreadTeam {
 public:
  static constexpr uint32_t kMaxThreads = 1024;

  /// A team of own threads, including the caller of run(); the others start at the first run. If
  /// the system refuses threads, the team continues with fewer. Throws Argument outside
  /// 1..kMaxThreads.
  ///   cpus  number of CPUs for the team; 0 means all that the process may use
  explicit ThreadTeam(uint32_t num_threads, std::shared_ptr<System> system = System::real(),
                      uint32_t cpus = 0);
  /// A team on the host's threads: one call of executor.run per phase.
  explicit ThreadTeam(const Executor& executor);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Runs all phases and returns true, or false when before_phase ended the run early.
  bool run(const Phases& job);

  /// Called before each phase of later runs, by one thread while the others wait: lets the caller
  /// of run() check a clock. Set between runs.
  struct Watch {
    void (*look)(void* arg) noexcept = nullptr;
    void* arg = nullptr;
  };
  void set_watch(const Watch& watch) { watch_ = watch; }

  /// Upper bound of the num_threads that phases see; fewer if threads could not be started.
  [[nodiscard]] uint32_t num_threads() const { return num_threads_; }

 private:
  struct Worker {
    ThreadTeam* team;
    uint32_t index;
    ThreadHandle thread;
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

  // word_ changes at every barrier; its lowest bit means "no work: wait for the next change".
  alignas(64) std::atomic<uint32_t> word_{1};
  std::atomic<uint32_t> num_sleeping_{0};
  alignas(64) std::atomic<uint32_t> num_arrived_{0};
};

}  // namespace tenon
