// Structured logs: each line is one JSON object, handed to the host by a thread of its own.
#pragma once

#include <tenon/tenon.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "json.h"
#include "side_thread.h"

namespace tenon_http {

/// Any thread. Copies are one log.
class ServerLog {
 public:
  /// sink: or null for none. level: the most detailed TENON_LOG_* that is wanted.
  ServerLog(tenon_log_callback sink, void* user, uint32_t level);

  [[nodiscard]] bool wants(uint32_t level) const { return lines_ != nullptr && level <= level_; }
  /// {"time", "level", "event", and the fields}. Never waits: a line for which there is no room is dropped and counted.
  void write(uint32_t level, std::string_view event, const Json& fields) const noexcept;

  /// Begins to hand out lines; those before it wait. Throws where no thread can be had.
  void start() const;
  /// Hands out what there is. Where the host has not taken all by `limit`, the rest is dropped, and a call that is
  /// under way is left behind.
  void stop(SideThread::Clock::time_point limit) const noexcept;
  [[nodiscard]] uint64_t num_dropped() const;

 private:
  class Lines;
  std::shared_ptr<Lines> lines_;  ///< null without a sink
  uint32_t level_;
};

}  // namespace tenon_http
