#include "server/work/task.h"

#include <utility>

#include "server/work/fence.h"

namespace tenon_http {

void Task::run() noexcept { (void)fenced(body_); }

TaskList::~TaskList() {
  while (pop() != nullptr) {
  }
}

void TaskList::push(std::shared_ptr<Task> task) noexcept {
  if (task->is_waiting_.exchange(true)) return;
  Task* const added = task.get();
  added->next_ = nullptr;
  added->self_ = std::move(task);
  (last_ == nullptr ? first_ : last_->next_) = added;
  last_ = added;
}

std::shared_ptr<Task> TaskList::pop() noexcept {
  if (first_ == nullptr) return nullptr;
  std::shared_ptr<Task> task = std::move(first_->self_);
  first_ = task->next_;
  if (first_ == nullptr) last_ = nullptr;
  task->is_waiting_ = false;
  return task;
}

void TaskList::swap(TaskList& other) noexcept {
  std::swap(first_, other.first_);
  std::swap(last_, other.last_);
}

}  // namespace tenon_http
