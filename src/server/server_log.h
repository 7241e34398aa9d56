// Structured logs: each line is one JSON object, handed to the host.
#pragma once

#include <tenon/tenon.h>

#include <cstdint>
#include <string_view>

#include "json.h"

namespace tenon_http {

/// Any thread.
class ServerLog {
 public:
  /// sink: or null for none. level: the most detailed TENON_LOG_* that is wanted.
  ServerLog(tenon_log_callback sink, void* user, uint32_t level)
      : sink_(sink), user_(user), level_(level) {}

  [[nodiscard]] bool wants(uint32_t level) const { return sink_ != nullptr && level <= level_; }
  /// {"time", "level", "event", and the fields}
  void write(uint32_t level, std::string_view event, const Json& fields) const;

 private:
  tenon_log_callback sink_;
  void* user_;
  uint32_t level_;
};

}  // namespace tenon_http
