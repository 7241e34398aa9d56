// Thread that may block on others, such as the host's log callback or a trace collector. Stopping
// abandons the thread after a deadline.
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

  /// Call once. body: owns what it uses, since it may outlive this object. Throws std::system_error
  /// if no thread can start.
  void start(std::function<void()> body);
  /// Waits for `body` until `limit`; false if it still runs and is abandoned.
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
