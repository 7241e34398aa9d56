#include "base/wake.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace tenon {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
// Longer waits wake spuriously, so that the seconds fit every clock.
constexpr uint64_t kLongestNs = 3600 * kSecondNs;
static_assert(sizeof(std::atomic<uint32_t>) == 4 && std::atomic<uint32_t>::is_always_lock_free);

}  // namespace

// A futex, because a semaphore's wait by the monotonic clock came with glibc 2.30, and musl has none.
// A futex fails only for arguments that are not used here.
void Wake::post() noexcept {
  posted_.store(1, std::memory_order_release);
  (void)::syscall(SYS_futex, &posted_, FUTEX_WAKE_PRIVATE, 1);
}

void Wake::wait(uint64_t timeout_ns) noexcept {
  if (posted_.exchange(0, std::memory_order_acquire) != 0) return;
  const uint64_t wait_ns = timeout_ns < kLongestNs ? timeout_ns : kLongestNs;
  timespec longest{};
  longest.tv_sec = static_cast<time_t>(wait_ns / kSecondNs);
  longest.tv_nsec = static_cast<long>(wait_ns % kSecondNs);
  // Sleeps only while there is no post; the timeout counts by the monotonic clock.
  (void)::syscall(SYS_futex, &posted_, FUTEX_WAIT_PRIVATE, 0,
                  timeout_ns == kForever ? nullptr : &longest);
  (void)posted_.exchange(0, std::memory_order_acquire);
}

}  // namespace tenon
