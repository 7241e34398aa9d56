// Tasks for the threads that the host lends or has the server start.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "exchange.h"

namespace tenon_http {

/// Any thread. While no thread is in run(), tasks go to `otherwise`.
class TaskQueue : public Tasks {
 public:
  explicit TaskQueue(Tasks& otherwise) : otherwise_(otherwise) {}

  void post(std::function<void()> task) override;
  /// Runs tasks until stop().
  void run();
  /// What has not begun is dropped.
  void stop();

 private:
  Tasks& otherwise_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  size_t num_threads_ = 0;
  bool is_stopped_ = false;
};

}  // namespace tenon_http
