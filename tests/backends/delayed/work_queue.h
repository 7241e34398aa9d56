// Jobs that one thread does in order, each of which takes a least time: what a device's queue looks like
// from the host. What the jobs are is not known here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "backends/common/failure.h"
#include "tenon/backend.h"

namespace tenon::delayed {

/// Any thread may call. Ends its thread in the destructor, after the jobs.
class WorkQueue {
 public:
  struct Job {
    std::function<tenon_status(uint64_t ticket)> work;
    std::chrono::microseconds least{};
    const uint32_t* cancel = nullptr;  ///< or a flag that ends the waiting
    bool is_step = false;
  };
  struct Ended {
    tenon_status status = TENON_BACKEND_OK;
    std::string text;  ///< of a failure
  };

  WorkQueue();
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// The ticket of a job. STATE for more than `most_steps` steps that were not waited for.
  uint64_t add(Job job, uint32_t most_steps);
  /// The end of a job, once for each ticket and in their order; else ARGUMENT.
  Ended wait(uint64_t ticket);
  /// Whether wait(ticket) would return at once.
  bool has_ended(uint64_t ticket);
  /// Returns when all jobs have ended.
  void drain();

  /// Where the thread's jobs leave their sentences; null on other threads.
  static std::string*& sentence();

 private:
  struct Entry {
    Job job;
    Ended ended;
    bool is_done = false;
  };
  void run();
  [[nodiscard]] uint64_t end_ticket() const { return first_ticket_ + entries_.size(); }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> entries_;  // not waited for
  uint64_t first_ticket_ = 1;  // of the first of them
  uint64_t next_ticket_ = 1;   // to be done next
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace tenon::delayed
