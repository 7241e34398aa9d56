// Condition variable for waits without a deadline.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tenon_http {

/// std::condition_variable whose wait() needs no symbol newer than GCC 11's library. GCC 12's
/// symbol would exclude systems with glibc 2.34 from the wheels (docs/packaging.md).
class Condition : public std::condition_variable {
 public:
  /// Returns once `is_met()`, which is called under the lock.
  template <typename IsMet>
  void wait(std::unique_lock<std::mutex>& lock, IsMet is_met) {
    while (!wait_for(lock, std::chrono::hours(1), is_met)) {
    }
  }
};

}  // namespace tenon_http
