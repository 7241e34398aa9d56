// Tasks that take long, on the threads of short ones: few at a time, clients in turns.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "exchange.h"

namespace tenon_http {

/// Of each client one task runs at a time, of all together as many as there are lanes; short tasks of
/// the same threads go between any two steps. Any thread.
class LongTasks {
 public:
  /// A part of a task; whether there is more. Must not throw.
  using Step = std::function<bool()>;

  explicit LongTasks(Tasks& threads) : threads_(threads) {}
  LongTasks(const LongTasks&) = delete;
  LongTasks& operator=(const LongTasks&) = delete;

  /// Those that may be taken at a time; at least one.
  void set_lanes(size_t lanes);
  /// Runs `step` until it returns false. client: whose it is.
  void post(const std::string& client, Step step);
  /// What has not begun is dropped, also of tasks under way.
  void stop();
  [[nodiscard]] size_t num_waiting() const;

 private:
  struct Client {
    std::string name;
    std::deque<Step> waiting{};
    bool runs = false;
  };
  /// Runs one step of whoever is next.
  void run();
  void fill_lanes(std::unique_lock<std::mutex>& lock);

  Tasks& threads_;
  mutable std::mutex mutex_;
  std::list<Client> clients_;  ///< with tasks; the next one first
  size_t lanes_ = 1;
  size_t num_runners_ = 0;  ///< posted to the threads, or on one of them
  bool is_stopped_ = false;
};

}  // namespace tenon_http
