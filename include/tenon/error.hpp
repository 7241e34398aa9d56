// Errors of the C++ interface: one exception type, and the check that every call goes through.
#pragma once

// Every header of the C++ interface includes this one before it declares anything. Compilers that
// continue after #error stop at the include: one sentence, not a hundred errors.
#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error \
    "tenon needs C++20 (-std=c++20; CMake: link tenon::tenon_cpp); tenon/tenon.h serves C and any C++"
#include <tenon/needs_cpp20>
#elif !defined(__cpp_exceptions)
#error "tenon's C++ headers need exceptions; tenon/tenon.h serves programs without them"
#include <tenon/needs_exceptions>
#endif

#include <tenon/tenon.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tenon {
// The library has classes of its own with these names; a static link contains both. The inline
// namespace keeps them apart, and lets a later interface stand beside this one.
inline namespace v1 {

/// Kinds of failure; tenon.h, section 3, says when each occurs.
enum class Code : int32_t {
  Ok = TENON_OK,
  Format = TENON_ERROR_FORMAT,
  Unsupported = TENON_ERROR_UNSUPPORTED,
  Limit = TENON_ERROR_LIMIT,
  Io = TENON_ERROR_IO,
  NoMemory = TENON_ERROR_NO_MEMORY,
  Argument = TENON_ERROR_ARGUMENT,
  Grammar = TENON_ERROR_GRAMMAR,
  Template = TENON_ERROR_TEMPLATE,
  Busy = TENON_ERROR_BUSY,
  Cancelled = TENON_ERROR_CANCELLED,
  Deadline = TENON_ERROR_DEADLINE,
  Plugin = TENON_ERROR_PLUGIN,
  State = TENON_ERROR_STATE,
  Internal = TENON_ERROR_INTERNAL,
};

/// The exception of every function of this interface: what() says what, where, value and limit.
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] Code code() const noexcept { return code_; }
  /// "FORMAT", "NO_MEMORY", ...
  [[nodiscard]] const char* code_name() const noexcept {
    return tenon_status_name(static_cast<tenon_status>(code_));
  }

 private:
  Code code_;
};

/// Throws the latest failure of this thread unless `status` is TENON_OK.
inline void check(tenon_status status) {
  if (status != TENON_OK) throw Error(static_cast<Code>(status), tenon_last_error());
}

/// Version of the linked or loaded library: "0.1.0".
inline const char* version() noexcept { return tenon_version_text(); }

}  // namespace v1
}  // namespace tenon
