#include "server/work/side_thread.h"

#include <utility>

#include "server/work/fence.h"

namespace tenon_http {

void SideThread::start(std::function<void()> body) {
  end_ = std::make_shared<End>();
  thread_ = std::thread([body = std::move(body), end = end_]() mutable {
    (void)fenced(body);
    body = nullptr;
    const std::lock_guard lock(end->mutex);
    end->has_come = true;
    end->changed.notify_all();
  });
}

bool SideThread::end_by(Clock::time_point limit) noexcept {
  if (!thread_.joinable()) return true;
  std::unique_lock lock(end_->mutex);
  const bool has_ended = end_->changed.wait_until(lock, limit, [&] { return end_->has_come; });
  lock.unlock();
  has_ended ? thread_.join() : thread_.detach();
  return has_ended;
}

}  // namespace tenon_http
