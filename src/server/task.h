// Pieces of work, and lists in which they wait for a thread. One that was made beforehand is posted without memory.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

namespace tenon_http {

/// May be posted any number of times; once while it waits. Any thread.
class Task {
 public:
  explicit Task(std::function<void()> body) : body_(std::move(body)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// What it throws ends here: whoever has to hear of it is told inside.
  void run() noexcept;

 private:
  friend class TaskList;

  std::function<void()> body_;
  std::shared_ptr<Task> self_;  ///< while it waits
  Task* next_ = nullptr;
  std::atomic<bool> is_waiting_{false};
};

/// First in, first out. It has no memory of its own and no lock.
class TaskList {
 public:
  TaskList() = default;
  TaskList(const TaskList&) = delete;
  TaskList& operator=(const TaskList&) = delete;
  ~TaskList();

  /// Does nothing with one that waits already, here or elsewhere.
  void push(std::shared_ptr<Task> task) noexcept;
  /// Null when none waits.
  std::shared_ptr<Task> pop() noexcept;
  void swap(TaskList& other) noexcept;
  [[nodiscard]] bool is_empty() const { return first_ == nullptr; }

 private:
  Task* first_ = nullptr;
  Task* last_ = nullptr;
};

/// Threads that run tasks, in the order in which they come.
class Tasks {
 public:
  virtual ~Tasks() = default;
  virtual void post(std::shared_ptr<Task> task) noexcept = 0;
  /// Throws std::bad_alloc, and then the task is not posted.
  void post(std::function<void()> body) { post(std::make_shared<Task>(std::move(body))); }
};

}  // namespace tenon_http
