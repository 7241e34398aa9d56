// The only error type of the engine. Codes equal those of tenon_status; the C ABI is in capi/.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenon {

/// Kinds of failure. The values are pinned: they are the values of tenon_status.
enum class Code : int32_t {
  Ok = 0,
  Format = 1,       ///< a file or a text is malformed
  Unsupported = 2,  ///< well formed, but not something this build can do
  Limit = 3,        ///< larger than a stated limit
  Io = 4,           ///< the operating system or the host's reader failed
  NoMemory = 5,     ///< an allocation failed or a budget is used up
  Argument = 6,     ///< the caller passed something invalid
  Grammar = 7,      ///< a grammar, schema or pattern is refused
  Template = 8,     ///< a chat template is refused or failed
  Busy = 9,         ///< a bounded queue is full, or the object is in use
  Cancelled = 10,   ///< cancelled by the host
  Deadline = 11,    ///< a deadline passed
  Plugin = 12,      ///< a plugin was refused or failed
  State = 13,       ///< the object cannot do this now
  Internal = 14,    ///< a defect of ours
};

/// The short name of a code as it appears in messages: "FORMAT", "NO_MEMORY", ...
const char* code_name(Code code) noexcept;

/// Every failure inside src/ is an Error (or std::bad_alloc); capi/ turns it into a status.
/// The message says what, where, value and limit, and never contains an address.
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] Code code() const noexcept { return code_; }

 private:
  Code code_;
};

/// Throws Error with a formatted message: fail(Code::Format, "{}: bad magic", name).
template <typename... Args>
[[noreturn]] void fail(Code code, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(code, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace tenon
