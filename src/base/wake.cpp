#include "base/wake.h"

#include <algorithm>

#include "base/futex.h"

namespace tenon {
namespace {

enum State : uint32_t { kIdle = 0, kPosted = 1, kSleeping = 2 };

// Longer waits wake spuriously, which keeps timeouts in the range of every system's clock.
constexpr uint64_t kLongestNs = uint64_t{3600} * 1'000'000'000;

}  // namespace

// The sleeper may destroy the object as soon as it sees the exchange: nothing is read after it.
void Wake::post() noexcept {
  if (state_.exchange(kPosted, std::memory_order_acq_rel) == kSleeping) futex_wake_all(state_);
}

void Wake::wait(uint64_t timeout_ns) noexcept {
  uint32_t state = kIdle;
  if (state_.compare_exchange_strong(state, kSleeping, std::memory_order_acq_rel)) {
    futex_wait(state_, kSleeping,
               timeout_ns == kForever ? kFutexForever : std::min(timeout_ns, kLongestNs));
  }
  state_.exchange(kIdle, std::memory_order_acq_rel);
}

}  // namespace tenon
