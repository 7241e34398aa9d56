#include "server/operations/server_log.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "server/work/condition.h"
#include "server/work/fence.h"

namespace tenon_http {
namespace {

/// Bounds on the waiting lines.
constexpr size_t kMaxLines = 4096;
constexpr size_t kMaxLogBytes = size_t{1} << 20;

/// RFC 3339 in UTC, with milliseconds.
std::string date_text(std::chrono::system_clock::time_point time) {
  const auto since = time.time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm calendar{};
  if (::gmtime_r(&seconds, &calendar) == nullptr) return "";
  std::array<char, 32> text{};
  std::string date(text.data(),
                   std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &calendar));
  std::snprintf(text.data(), text.size(), ".%03dZ", static_cast<int>(ms % 1000));
  return date + text.data();
}

const char* level_name(uint32_t level) {
  constexpr auto kNames = std::to_array<const char*>({"error", "warning", "info", "debug"});
  return level < kNames.size() ? kNames[level] : "debug";
}

std::string line_of(uint32_t level, std::string_view event, const Json& fields) {
  Json line{{"time", date_text(std::chrono::system_clock::now())},
            {"level", level_name(level)},
            {"event", event}};
  line.update(fields);
  return to_text(line);
}

}  // namespace

/// Queue of lines for the host.
class ServerLog::Lines : public std::enable_shared_from_this<Lines> {
 public:
  Lines(tenon_log_callback sink, void* user) : sink_(sink), user_(user) {}

  void add(uint32_t level, std::string_view event, const Json& fields) noexcept {
    const bool is_kept = fenced([&] {
      std::string text = line_of(level, event, fields);
      const std::lock_guard lock(mutex_);
      if (waiting_.size() >= kMaxLines || bytes_ + text.size() > kMaxLogBytes) {
        ++num_dropped_;
        return;
      }
      const size_t size = text.size();
      waiting_.push_back({level, std::move(text)});
      bytes_ += size;
      changed_.notify_one();
    });
    if (!is_kept) ++num_dropped_;
  }

  void start() {
    const std::lock_guard lock(thread_mutex_);
    if (std::exchange(has_started_, true)) return;
    thread_.start([self = shared_from_this()] { self->hand_out(); });
  }

  void stop(SideThread::Clock::time_point limit) noexcept {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
      changed_.notify_one();
    }
    const std::lock_guard lock(thread_mutex_);
    if (thread_.end_by(limit)) return;
    const std::lock_guard abandoned(mutex_);
    is_abandoned_ = true;
  }

  [[nodiscard]] uint64_t num_dropped() const { return num_dropped_; }

 private:
  struct Line {
    uint32_t level;
    std::string text;
  };

  void hand_out() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
      if (is_abandoned_ || waiting_.empty()) return;
      const Line line = std::move(waiting_.front());
      waiting_.pop_front();
      bytes_ -= line.text.size();
      const uint64_t dropped = num_dropped_ - std::exchange(num_told_, num_dropped_);
      lock.unlock();
      sink_(user_, line.level, line.text.data(), line.text.size());
      if (dropped > 0) tell_dropped(dropped);
      lock.lock();
    }
  }

  void tell_dropped(uint64_t count) noexcept {
    (void)fenced([&] {
      const std::string text =
          line_of(TENON_LOG_WARNING, "log lines dropped", Json{{"count", count}});
      const std::unique_lock lock(mutex_);
      if (is_abandoned_) return;
      waiting_.push_front({TENON_LOG_WARNING, text});
      bytes_ += text.size();
    });
  }

  const tenon_log_callback sink_;
  void* const user_;
  std::mutex mutex_;
  Condition changed_;
  std::deque<Line> waiting_;
  size_t bytes_ = 0;
  uint64_t num_told_ = 0;  ///< dropped lines that were reported
  bool is_stopping_ = false;
  bool is_abandoned_ = false;  ///< the host may be gone: no more callbacks
  std::atomic<uint64_t> num_dropped_{0};
  std::mutex thread_mutex_;  ///< held while the thread starts or ends
  bool has_started_ = false;
  SideThread thread_;
};

ServerLog::ServerLog(tenon_log_callback sink, void* user, uint32_t level)
    : lines_(sink == nullptr ? nullptr : std::make_shared<Lines>(sink, user)), level_(level) {}

void ServerLog::write(uint32_t level, std::string_view event, const Json& fields) const noexcept {
  if (wants(level)) lines_->add(level, event, fields);
}

void ServerLog::start() const {
  if (lines_ != nullptr) lines_->start();
}

void ServerLog::stop(SideThread::Clock::time_point limit) const noexcept {
  if (lines_ != nullptr) lines_->stop(limit);
}

uint64_t ServerLog::num_dropped() const { return lines_ == nullptr ? 0 : lines_->num_dropped(); }

}  // namespace tenon_http
