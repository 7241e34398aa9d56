// Structured logs: one JSON object per line, passed to the host by a separate thread.
#pragma once

#include <tenon/tenon.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "server/json/json.h"
#include "server/work/side_thread.h"

namespace tenon_http {

/// Thread-safe. Copies share one log.
class ServerLog {
 public:
  /// sink: may be null. level: the most detailed TENON_LOG_* to pass on.
  ServerLog(tenon_log_callback sink, void* user, uint32_t level);

  [[nodiscard]] bool wants(uint32_t level) const { return lines_ != nullptr && level <= level_; }
  /// Writes {"time", "level", "event", fields}. Never waits: drops and counts lines beyond the
  /// bounds.
  void write(uint32_t level, std::string_view event, const Json& fields) const noexcept;

  /// Starts the thread that passes lines to the host. Throws if no thread can start.
  void start() const;
  /// Passes on the waiting lines until `limit`, then drops the rest. Abandons a callback that is
  /// still running.
  void stop(SideThread::Clock::time_point limit) const noexcept;
  [[nodiscard]] uint64_t num_dropped() const;

 private:
  class Lines;
  std::shared_ptr<Lines> lines_;  ///< null without a callback
  uint32_t level_;
};

}  // namespace tenon_http
