#include "task_queue.h"

#include <utility>

namespace tenon_http {

void TaskQueue::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return;
    if (num_threads_ > 0) {
      tasks_.push_back(std::move(task));
      wake_.notify_one();
      return;
    }
  }
  otherwise_.post(std::move(task));
}

void TaskQueue::run() {
  std::unique_lock lock(mutex_);
  ++num_threads_;
  for (;;) {
    wake_.wait(lock, [&] { return is_stopped_ || !tasks_.empty(); });
    if (is_stopped_) break;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
  --num_threads_;
}

void TaskQueue::stop() {
  std::deque<std::function<void()>> dropped;
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  dropped.swap(tasks_);
  wake_.notify_all();
}

}  // namespace tenon_http
