// Tasks for threads that the host lends or that the server starts.
#pragma once

#include <mutex>

#include "server/work/condition.h"
#include "server/work/task.h"

namespace tenon_http {

/// Thread-safe. Tasks go to `otherwise` while no thread is in run().
class TaskQueue : public Tasks {
 public:
  explicit TaskQueue(Tasks& otherwise) : otherwise_(otherwise) {}

  using Tasks::post;
  void post(std::shared_ptr<Task> task) noexcept override;
  /// Runs tasks until stop().
  void run() noexcept;
  /// Drops the tasks that have not begun.
  void stop() noexcept;

 private:
  Tasks& otherwise_;
  std::mutex mutex_;
  Condition wake_;
  TaskList tasks_;
  size_t num_threads_ = 0;
  bool is_stopped_ = false;
};

}  // namespace tenon_http
