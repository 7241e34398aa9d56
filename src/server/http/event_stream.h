// Formats server-sent events (HTML standard, 9.2).
#pragma once

#include <string>
#include <string_view>

namespace tenon_http {

inline constexpr const char* kEventStream = "text/event-stream";

/// data: a single line.
inline std::string event_text(std::string_view data) {
  return std::string("data: ").append(data).append("\n\n");
}

inline std::string event_text(std::string_view name, std::string_view data) {
  return std::string("event: ").append(name).append("\n").append(event_text(data));
}

}  // namespace tenon_http
