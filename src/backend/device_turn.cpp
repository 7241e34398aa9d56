#include "backend/device_turn.h"

#include <algorithm>

#include "abi/cancel_flag.h"

namespace tenon {
namespace {

constexpr uint64_t kLookNs = 5'000'000;

/// Time until the next look; 0 if the patience has ended. Calls the host's clock.
uint64_t time_to_wait(const DeviceTurn::Patience* patience) {
  if (patience == nullptr) return Wake::kForever;
  if (is_set(patience->cancel)) return 0;
  if (patience->is_over != nullptr && patience->is_over(patience->arg)) return 0;
  if (patience->deadline_ns == UINT64_MAX) {
    const bool looks = patience->cancel != nullptr || patience->is_over != nullptr;
    return looks ? kLookNs : Wake::kForever;
  }
  const uint64_t now = patience->system.now_ns();
  return std::min(patience->deadline_ns - std::min(now, patience->deadline_ns), kLookNs);
}

}  // namespace

bool DeviceTurn::try_lock() {
  const std::scoped_lock lock(mutex_);
  if (is_taken_) return false;
  return is_taken_ = true;
}

/// Passes the turn to the first thread that waits, before any new caller.
void DeviceTurn::unlock() {
  const std::scoped_lock lock(mutex_);
  Place* next = first_;
  while (next != nullptr && !next->is_attended) next = next->next;
  is_taken_ = next != nullptr;
  if (next == nullptr) return;
  leave_queue(*next);
  next->has_turn = true;
  next->wake.post();
}

size_t DeviceTurn::num_waiting() {
  const std::scoped_lock lock(mutex_);
  size_t count = 0;
  for (const Place* place = first_; place != nullptr; place = place->next) {
    if (place->is_attended) ++count;
  }
  return count;
}

void DeviceTurn::join_queue(Place& place) {
  place.is_attended = true;
  if (place.is_queued) return;
  place.is_queued = true;
  place.next = nullptr;
  (last_ != nullptr ? last_->next : first_) = &place;
  last_ = &place;
}

void DeviceTurn::leave_queue(Place& place) {
  place.is_attended = false;
  if (!place.is_queued) return;
  place.is_queued = false;
  Place* before = nullptr;
  Place** at = &first_;
  for (; *at != &place; at = &(*at)->next) before = *at;
  *at = place.next;
  if (last_ == &place) last_ = before;
}

bool DeviceTurn::wait(const Patience* patience, Place* kept) {
  std::unique_lock lock(mutex_);
  if (!is_taken_) {
    if (kept != nullptr) leave_queue(*kept);
    return is_taken_ = true;
  }
  Place own;
  Place& place = kept != nullptr ? *kept : own;
  join_queue(place);
  while (!place.has_turn) {
    lock.unlock();
    const uint64_t timeout_ns = time_to_wait(patience);
    if (timeout_ns != 0) place.wake.wait(timeout_ns);
    lock.lock();
    if (timeout_ns != 0 || place.has_turn) continue;
    place.is_attended = false;
    if (kept == nullptr) leave_queue(place);
    return false;
  }
  place.has_turn = false;
  return true;
}

}  // namespace tenon
