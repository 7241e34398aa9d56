// Tasks and queues of tasks. Posting an existing task allocates nothing.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

namespace tenon_http {

/// Work that may be posted repeatedly; a task is queued at most once at a time. Thread-safe.
class Task {
 public:
  explicit Task(std::function<void()> body) : body_(std::move(body)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// Swallows exceptions: the body reports its own failures.
  void run() noexcept;

 private:
  friend class TaskList;

  std::function<void()> body_;
  std::shared_ptr<Task> self_;  ///< set while queued
  Task* next_ = nullptr;
  std::atomic<bool> is_waiting_{false};
};

/// Intrusive queue, first in, first out. Has no lock and allocates nothing.
class TaskList {
 public:
  TaskList() = default;
  TaskList(const TaskList&) = delete;
  TaskList& operator=(const TaskList&) = delete;
  ~TaskList();

  /// Does nothing if the task is already queued, in any list.
  void push(std::shared_ptr<Task> task) noexcept;
  /// Returns null if the list is empty.
  std::shared_ptr<Task> pop() noexcept;
  void swap(TaskList& other) noexcept;
  [[nodiscard]] bool is_empty() const { return first_ == nullptr; }

 private:
  Task* first_ = nullptr;
  Task* last_ = nullptr;
};

/// Runs tasks in order of posting.
class Tasks {
 public:
  virtual ~Tasks() = default;
  virtual void post(std::shared_ptr<Task> task) noexcept = 0;
  /// Throws std::bad_alloc; the body is not posted then.
  void post(std::function<void()> body) { post(std::make_shared<Task>(std::move(body))); }
};

}  // namespace tenon_http
