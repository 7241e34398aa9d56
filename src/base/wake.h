// A place for one thread to sleep until another one, or a signal handler, wakes it. What it waits
// for is the caller's business and under the caller's lock.
#pragma once

#include <semaphore.h>

#include <cstdint>

namespace tenon {

class Wake {
 public:
  static constexpr uint64_t kForever = UINT64_MAX;

  Wake() noexcept;
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  /// Ends the wait under way or the next one. Any thread, and signal handlers.
  void post() noexcept;

  /// Sleeps until a post, for `timeout_ns` at most; may also return for no reason. Takes all posts
  /// so far with it.
  void wait(uint64_t timeout_ns = kForever) noexcept;

 private:
  sem_t semaphore_;
};

}  // namespace tenon
