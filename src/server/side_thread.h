// A thread for what waits for others: the host that takes the log, a collector of traces. A stop leaves it behind when
// they keep it too long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace tenon_http {

class SideThread {
 public:
  using Clock = std::chrono::steady_clock;

  SideThread() = default;
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;
  ~SideThread() { (void)end_by(Clock::now()); }

  /// Once. body: holds what it uses, since it may outlive this. Throws where no thread can be had.
  void start(std::function<void()> body);
  /// Waits until `body` has returned; whether it has by `limit`. Otherwise it is left behind.
  bool end_by(Clock::time_point limit) noexcept;

 private:
  struct End {
    std::mutex mutex{};
    std::condition_variable changed{};
    bool has_come = false;
  };

  std::shared_ptr<End> end_;
  std::thread thread_;
};

}  // namespace tenon_http
