#include "backends/delayed/work_queue.h"

#include <algorithm>
#include <utility>

#include "abi/cancel_flag.h"

namespace tenon::delayed {
namespace {

using Clock = std::chrono::steady_clock;

/// Sleeps until `then`; returns false if the flag was set meanwhile.
bool sleep_until(Clock::time_point then, const uint32_t* cancel) {
  for (auto now = Clock::now(); now < then; now = Clock::now()) {
    if (is_set(cancel)) return false;
    const auto slice = cancel == nullptr ? then - now : std::chrono::microseconds(200);
    std::this_thread::sleep_until(std::min(then, now + slice));
  }
  return true;
}

}  // namespace

std::string*& WorkQueue::sentence() {
  thread_local std::string* of_thread = nullptr;
  return of_thread;
}

WorkQueue::WorkQueue() : thread_([this] { run(); }) {}

WorkQueue::~WorkQueue() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

uint64_t WorkQueue::add(Job job, uint32_t most_steps) {
  const std::scoped_lock lock(mutex_);
  const auto steps = std::count_if(entries_.begin(), entries_.end(),
                                   [](const Entry& entry) { return entry.job.is_step; });
  if (job.is_step && steps >= most_steps) {
    backends::refuse(TENON_BACKEND_STATE, "run while {} steps are under way", steps);
  }
  entries_.push_back({std::move(job), {}, false});
  changed_.notify_all();
  return end_ticket() - 1;
}

WorkQueue::Ended WorkQueue::wait(uint64_t ticket) {
  std::unique_lock lock(mutex_);
  if (entries_.empty() || ticket != first_ticket_) {
    backends::refuse(TENON_BACKEND_ARGUMENT, "ticket {} is not the next to be waited for", ticket);
  }
  changed_.wait(lock, [this] { return entries_.front().is_done; });
  Ended ended = std::move(entries_.front().ended);
  entries_.pop_front();
  ++first_ticket_;
  return ended;
}

bool WorkQueue::has_ended(uint64_t ticket) {
  const std::scoped_lock lock(mutex_);
  if (ticket < first_ticket_ || ticket >= end_ticket()) {
    backends::refuse(TENON_BACKEND_ARGUMENT, "there is no ticket {}", ticket);
  }
  return entries_[ticket - first_ticket_].is_done;
}

void WorkQueue::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return next_ticket_ == end_ticket(); });
}

void WorkQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || next_ticket_ < end_ticket(); });
    if (next_ticket_ == end_ticket()) return;
    // Neither moved nor removed before its end.
    const uint64_t ticket = next_ticket_;
    Entry& entry = entries_[ticket - first_ticket_];
    lock.unlock();
    const auto start = Clock::now();
    sentence() = &entry.ended.text;
    entry.ended.status = entry.job.work(ticket);
    sentence() = nullptr;
    const bool in_time = sleep_until(start + entry.job.least, entry.job.cancel);
    if (!in_time && entry.ended.status == TENON_BACKEND_OK) {
      entry.ended = {TENON_BACKEND_CANCELLED, "cancelled"};
    }
    lock.lock();
    entry.job.work = nullptr;
    entry.is_done = true;
    ++next_ticket_;
    changed_.notify_all();
  }
}

}  // namespace tenon::delayed
