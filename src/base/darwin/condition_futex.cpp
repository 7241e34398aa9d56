#include "base/darwin/condition_futex.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tenon {
namespace {

constexpr uint64_t kLongestSleepNs = 20'000'000;

/// Sleepers on words of equal hash: a wake wakes all of them.
struct SleepingPlace {
  std::mutex mutex;
  std::condition_variable condition;
};

constexpr size_t kNumPlaces = 64;

/// Never destroyed: threads may sleep until the process ends.
union SleepingPlaces {
  SleepingPlaces() : places{} {}
  ~SleepingPlaces() {}
  SleepingPlace places[kNumPlaces];
};

SleepingPlace& place_of(const std::atomic<uint32_t>& word) noexcept {
  static SleepingPlaces all;
  const auto address = reinterpret_cast<uintptr_t>(&word);
  return all.places[(address >> 2 ^ address >> 12) % kNumPlaces];
}

/// Blocks all signals: a handler that wakes must not interrupt the holder of a lock.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

void condition_wait(const std::atomic<uint32_t>& word, uint32_t seen,
                    uint64_t timeout_ns) noexcept {
  const SignalsBlocked blocked;
  SleepingPlace& place = place_of(word);
  std::unique_lock lock(place.mutex);
  // A waker changes the word before it takes the lock, so its wake comes after this look.
  if (word.load(std::memory_order_seq_cst) != seen) return;
  place.condition.wait_for(lock, std::chrono::nanoseconds(std::min(timeout_ns, kLongestSleepNs)));
}

void condition_wake_all(const std::atomic<uint32_t>& word) noexcept {
  const SignalsBlocked blocked;
  SleepingPlace& place = place_of(word);
  const std::lock_guard lock(place.mutex);
  place.condition.notify_all();
}

}  // namespace tenon
