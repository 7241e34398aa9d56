#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace tenon {

void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen, uint64_t timeout_ns) noexcept {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(timeout_ns / kSecondNs);
  timeout.tv_nsec = static_cast<long>(timeout_ns % kSecondNs);
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen,
                  timeout_ns == kFutexForever ? nullptr : &timeout, nullptr, 0);
}

void futex_wake_all(const std::atomic<uint32_t>& word) noexcept {
  (void)::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tenon
