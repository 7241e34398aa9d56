#include "server/work/work_limit.h"

#include <time.h>

#include <utility>

namespace tenon_http {
namespace {

thread_local WorkLimit* limit_of_thread = nullptr;

uint64_t thread_time_ns() {
  timespec time{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

WorkLimit::Use::Use(WorkLimit& limit, double seconds)
    : before_(std::exchange(limit_of_thread, &limit)) {
  limit.until_ns_ = thread_time_ns() + static_cast<uint64_t>(seconds * 1e9);
  limit.seconds_ = seconds;
  limit.weight_ = 0;
}

WorkLimit::Use::~Use() { limit_of_thread = before_; }

void WorkLimit::look(uint32_t weight) {
  WorkLimit* const limit = limit_of_thread;
  if (limit == nullptr) return;
  if (limit->is_stopped()) throw WorkEnd::Unwanted;
  limit->weight_ += weight;
  if (limit->weight_ >= kLongWork) limit->look_at_clock();
}

void WorkLimit::need(double seconds) {
  look(kLongWork);
  if (limit_of_thread != nullptr && limit_of_thread->seconds_ < seconds) throw WorkEnd::Late;
}

void WorkLimit::look_at_clock() {
  weight_ = 0;
  if (thread_time_ns() >= until_ns_) throw WorkEnd::Late;
}

}  // namespace tenon_http
