// A queue of jobs run in order by one thread, each with a least duration, like a device's queue.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "abi/failure.h"
#include "tenon/backend.h"

namespace tenon::delayed {

/// Any thread may call. The destructor ends the thread after the jobs.
class WorkQueue {
 public:
  struct Job {
    std::function<tenon_status(uint64_t ticket)> work;
    std::chrono::microseconds least{};
    const uint32_t* cancel = nullptr;  ///< flag that ends the delay; may be null
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

  /// Adds a job; returns its ticket. Throws STATE for more than `most_steps` steps not waited for.
  uint64_t add(Job job, uint32_t most_steps);
  /// Waits for a job's end, once per ticket and in order. Throws ARGUMENT otherwise.
  Ended wait(uint64_t ticket);
  /// True if wait(ticket) would return at once.
  bool has_ended(uint64_t ticket);
  /// Waits for all jobs.
  void drain();

  /// Destination of sentences of the thread's jobs; null on other threads.
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
  uint64_t first_ticket_ = 1;  // ticket of the first entry
  uint64_t next_ticket_ = 1;   // ticket to run next
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace tenon::delayed
