#include "base/wake.h"

#include <ctime>

namespace tenon {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
// Longer waits wake spuriously, so that no sum below overflows.
constexpr uint64_t kLongestNs = 3600 * kSecondNs;

}  // namespace

// sem_init and sem_post fail only for arguments that are not used here.
Wake::Wake() noexcept { (void)::sem_init(&semaphore_, 0, 0); }
Wake::~Wake() { (void)::sem_destroy(&semaphore_); }

void Wake::post() noexcept { (void)::sem_post(&semaphore_); }

void Wake::wait(uint64_t timeout_ns) noexcept {
  if (timeout_ns == kForever) {
    (void)::sem_wait(&semaphore_);
  } else {
    timespec until{};
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t wait_ns = timeout_ns < kLongestNs ? timeout_ns : kLongestNs;
    const uint64_t ns = static_cast<uint64_t>(until.tv_nsec) + wait_ns;
    until.tv_sec += static_cast<time_t>(ns / kSecondNs);
    until.tv_nsec = static_cast<long>(ns % kSecondNs);
    (void)::sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &until);
  }
  while (::sem_trywait(&semaphore_) == 0) {
  }
}

}  // namespace tenon
