// Long tasks on the threads of short ones: few at a time, clients in turns.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "server/work/fence.h"
#include "server/work/task.h"

namespace tenon_http {

/// Runs one task per client and one step per lane at a time. Short tasks run between steps.
/// Thread-safe.
class LongTasks {
 public:
  /// One step of a task; true if more follow.
  using Step = std::function<bool()>;

  explicit LongTasks(Tasks& threads) : threads_(threads) { add_lanes(1); }
  LongTasks(const LongTasks&) = delete;
  LongTasks& operator=(const LongTasks&) = delete;

  /// Adds lanes to the first. Throws std::bad_alloc.
  void add_lanes(size_t count);
  /// Runs `step` until it returns false. client: name of the client that asked.
  void post(const std::string& client, Step step);
  /// Drops all steps that have not begun, also of running tasks.
  void stop() noexcept;
  [[nodiscard]] size_t num_waiting() const;

 private:
  struct Client {
    std::string name;
    std::list<Step> waiting{};  // not a deque: even an empty one takes memory
    bool runs = false;
  };
  /// Allocated ahead, so that the next step allocates nothing.
  struct Lane {
    std::shared_ptr<Task> task{};
    bool is_busy = false;  ///< posted, or running
  };
  /// Runs a step of the next client.
  void run(Lane& lane) noexcept;
  void fill_lanes() noexcept;

  Tasks& threads_;
  mutable std::mutex mutex_;
  std::list<Client> clients_;  ///< clients with tasks, the next first
  std::list<Lane> lanes_;
  bool is_stopped_ = false;
};

}  // namespace tenon_http
