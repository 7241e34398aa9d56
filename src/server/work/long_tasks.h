// Runs long tasks on the threads of short tasks: a few at a time, clients in turn.
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

/// Round robin over clients. Runs at most one step per client and one per lane at a time; short
/// tasks run between steps. Thread-safe.
class LongTasks {
 public:
  /// Runs one step of a task; true if more follow.
  using Step = std::function<bool()>;

  explicit LongTasks(Tasks& threads) : threads_(threads) { add_lanes(1); }
  LongTasks(const LongTasks&) = delete;
  LongTasks& operator=(const LongTasks&) = delete;

  /// Adds `count` lanes; the constructor makes one. Throws std::bad_alloc.
  void add_lanes(size_t count);
  /// Runs `step` until it returns false or throws. client: name of the client that asked.
  void post(const std::string& client, Step step);
  /// Drops all steps that have not begun, including the next steps of running tasks.
  void stop() noexcept;
  [[nodiscard]] size_t num_waiting() const;

 private:
  struct Client {
    std::string name;
    std::list<Step> waiting{};  // list, since even an empty deque allocates
    bool runs = false;
  };
  /// Slot that runs one step at a time. Its task is allocated in advance, so that posting a step
  /// never allocates.
  struct Lane {
    std::shared_ptr<Task> task{};
    bool is_busy = false;  ///< posted or running
  };
  /// Runs a step of the next client.
  void run(Lane& lane) noexcept;
  void fill_lanes() noexcept;

  Tasks& threads_;
  mutable std::mutex mutex_;
  std::list<Client> clients_;  ///< clients with tasks, the next to run first
  std::list<Lane> lanes_;
  bool is_stopped_ = false;
};

}  // namespace tenon_http
