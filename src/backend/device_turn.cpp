#include "backend/device_turn.h"

#include <algorithm>

namespace tenon {
namespace {

constexpr uint64_t kLookNs = 5'000'000;

}  // namespace

bool DeviceTurn::try_lock() {
  const std::scoped_lock lock(mutex_);
  if (is_taken_) return false;
  return is_taken_ = true;
}

/// Passes the turn to the first waiter, before any new caller.
void DeviceTurn::unlock() {
  const std::scoped_lock lock(mutex_);
  is_taken_ = first_ != nullptr;
  if (first_ == nullptr) return;
  Waiter& next = *first_;
  leave_queue(next);
  next.has_turn = true;
  next.wake.post();
}

size_t DeviceTurn::num_waiting() {
  const std::scoped_lock lock(mutex_);
  size_t count = 0;
  for (const Waiter* waiter = first_; waiter != nullptr; waiter = waiter->next) ++count;
  return count;
}

void DeviceTurn::leave_queue(const Waiter& waiter) {
  Waiter* before = nullptr;
  Waiter** at = &first_;
  for (; *at != &waiter; at = &(*at)->next) before = *at;
  *at = waiter.next;
  if (last_ == &waiter) last_ = before;
}

bool DeviceTurn::wait(const Patience* patience) {
  std::unique_lock lock(mutex_);
  if (!is_taken_) return is_taken_ = true;
  Waiter waiter;
  (last_ != nullptr ? last_->next : first_) = &waiter;
  last_ = &waiter;
  while (!waiter.has_turn) {
    uint64_t timeout_ns = Wake::kForever;
    if (patience != nullptr) {
      const uint64_t now = patience->system.now_ns();
      const bool is_cancelled =
          patience->cancel != nullptr && __atomic_load_n(patience->cancel, __ATOMIC_SEQ_CST) != 0;
      if (is_cancelled || now >= patience->deadline_ns) {
        leave_queue(waiter);
        return false;
      }
      timeout_ns = std::min(patience->deadline_ns - now, kLookNs);
    }
    lock.unlock();
    waiter.wake.wait(timeout_ns);
    lock.lock();
  }
  return true;
}

}  // namespace tenon
