// Tasks for the threads that the host lends or has the server start.
#pragma once

#include <mutex>

#include "server/work/condition.h"
#include "server/work/task.h"

namespace tenon_http {

/// Any thread. While no thread is in run(), tasks go to `otherwise`.
class TaskQueue : public Tasks {
 public:
  explicit TaskQueue(Tasks& otherwise) : otherwise_(otherwise) {}

  using Tasks::post;
  void post(std::shared_ptr<Task> task) noexcept override;
  /// Runs tasks until stop().
  void run() noexcept;
  /// What has not begun is dropped.
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
