#include "server/work/task_queue.h"

#include <utility>

namespace tenon_http {

void TaskQueue::post(std::shared_ptr<Task> task) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return;
    if (num_threads_ > 0) {
      tasks_.push(std::move(task));
      wake_.notify_one();
      return;
    }
  }
  otherwise_.post(std::move(task));
}

void TaskQueue::run() noexcept {
  std::unique_lock lock(mutex_);
  ++num_threads_;
  for (;;) {
    wake_.wait(lock, [&] { return is_stopped_ || !tasks_.is_empty(); });
    if (is_stopped_) break;
    std::shared_ptr<Task> task = tasks_.pop();
    lock.unlock();
    task->run();
    task = nullptr;
    lock.lock();
  }
  --num_threads_;
}

void TaskQueue::stop() noexcept {
  TaskList dropped;  // destroyed after unlocking
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  dropped.swap(tasks_);
  wake_.notify_all();
}

}  // namespace tenon_http
