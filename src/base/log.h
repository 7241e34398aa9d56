// Sink of messages: a callback set by the host. Nothing here prints.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tenon {

/// Ascending severity (the C ABI counts the other way).
enum class LogLevel : int32_t { Debug = 0, Info = 1, Warning = 2, Error = 3 };

/// A host's sink, copied into objects that log. Messages are not formatted if `write` is null.
struct Log {
  /// text: `length` bytes of UTF-8, also null-terminated, valid during the call.
  void (*write)(void* user, int32_t level, const char* text, size_t length) = nullptr;
  void* user = nullptr;
  LogLevel minimum = LogLevel::Info;

  [[nodiscard]] bool wants(LogLevel level) const { return write != nullptr && level >= minimum; }

  /// Logs one line, without a newline: log(LogLevel::Warning, "{}: no huge pages", name).
  template <typename... Args>
  void operator()(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (!wants(level)) return;
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    write(user, static_cast<int32_t>(level), text.c_str(), text.size());
  }
};

}  // namespace tenon
