#include "server_log.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

namespace tenon_http {
namespace {

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

}  // namespace

void ServerLog::write(uint32_t level, std::string_view event, const Json& fields) const {
  if (!wants(level)) return;
  Json line{{"time", date_text(std::chrono::system_clock::now())},
            {"level", level_name(level)},
            {"event", event}};
  line.update(fields);
  const std::string text = to_text(line);
  sink_(user_, level, text.data(), text.size());
}

}  // namespace tenon_http
