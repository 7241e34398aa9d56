// Tasks that take long, on the threads of short ones: few at a time, clients in turns.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "fence.h"
#include "task.h"

namespace tenon_http {

/// Of each client one task runs at a time, of all together as many as there are lanes; short tasks of
/// the same threads go between any two steps. Any thread.
class LongTasks {
 public:
  /// A part of a task; whether there is more.
  using Step = std::function<bool()>;

  explicit LongTasks(Tasks& threads) : threads_(threads) { add_lanes(1); }
  LongTasks(const LongTasks&) = delete;
  LongTasks& operator=(const LongTasks&) = delete;

  /// More of them, beside the first one. Throws std::bad_alloc.
  void add_lanes(size_t count);
  /// Runs `step` until it returns false. client: whose it is.
  void post(const std::string& client, Step step);
  /// What has not begun is dropped, also of tasks under way.
  void stop() noexcept;
  [[nodiscard]] size_t num_waiting() const;

 private:
  struct Client {
    std::string name;
    std::list<Step> waiting{};  // not a deque: even an empty one takes memory
    bool runs = false;
  };
  /// Made beforehand, so that going on takes no memory.
  struct Lane {
    std::shared_ptr<Task> task{};
    bool is_busy = false;  ///< posted to the threads, or on one of them
  };
  /// Runs one step of whoever is next.
  void run(Lane& lane) noexcept;
  void fill_lanes() noexcept;

  Tasks& threads_;
  mutable std::mutex mutex_;
  std::list<Client> clients_;  ///< with tasks; the next one first
  std::list<Lane> lanes_;
  bool is_stopped_ = false;
};

}  // namespace tenon_http
