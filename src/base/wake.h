// A semaphore on which one thread sleeps until another thread or a signal handler wakes it. The
// awaited condition is the caller's, under the caller's lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon {

class Wake {
 public:
  static constexpr uint64_t kForever = UINT64_MAX;

  Wake() noexcept = default;
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  /// Ends the current wait, or the next one. Safe from any thread and from signal handlers.
  void post() noexcept;

  /// Sleeps until a post, at most `timeout_ns`; may wake spuriously. Consumes all posts so far.
  void wait(uint64_t timeout_ns = kForever) noexcept;

 private:
  std::atomic<uint32_t> posted_{0};  // 1 from a post until a wait consumes it
};

}  // namespace tenon
