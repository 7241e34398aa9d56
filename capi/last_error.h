// Message of a thread's latest failure and the status of an exception, for every library with a C
// interface.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tenon/tenon.h"

namespace tenon::capi {

/// Each library keeps one per thread. Static storage without a destructor: NO_MEMORY must be
/// reportable, also while a thread ends.
///   Error  the library's exception, with a code() whose values are those of tenon_status
template <typename Error>
class LastError {
 public:
  /// Null-terminated UTF-8.
  [[nodiscard]] const char* text() const noexcept { return text_; }
  /// errno of the system call that failed; 0 for other failures.
  [[nodiscard]] int32_t system_error() const noexcept { return system_error_; }

  tenon_status report(tenon_status status, std::string_view message,
                      int32_t system_error = 0) noexcept {
    const std::string_view kept = whole_characters(message, sizeof text_ - 1);
    // Use memmove: an exception made from text() overlaps it.
    std::memmove(text_, kept.data(), kept.size());
    text_[kept.size()] = '\0';
    system_error_ = system_error;
    return status;
  }

  /// Reports the exception being handled.
  tenon_status report_current_exception() noexcept {
    try {
      throw;
    } catch (const Error& error) {
      return report(static_cast<tenon_status>(error.code()), error.what());
    } catch (const std::bad_alloc&) {
      return report(TENON_ERROR_NO_MEMORY, "out of memory");
    } catch (const std::length_error& error) {
      return report(TENON_ERROR_NO_MEMORY, error.what());
    } catch (const std::exception& error) {
      return report(TENON_ERROR_INTERNAL, error.what());
    } catch (...) {
      return report(TENON_ERROR_INTERNAL, "an exception of unknown type");
    }
  }

  /// Runs `body` and turns its exceptions into a status.
  template <typename Body>
  tenon_status fence(Body&& body) noexcept {
    try {
      std::forward<Body>(body)();
      return TENON_OK;
    } catch (...) {
      return report_current_exception();
    }
  }

 private:
  /// Longest prefix of at most `limit` bytes that does not end inside a UTF-8 character.
  static std::string_view whole_characters(std::string_view text, size_t limit) noexcept {
    if (text.size() <= limit) return text;
    size_t end = limit;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
    return text.substr(0, end);
  }

  char text_[2048] = "";  ///< room for the longest message
  int32_t system_error_ = 0;
};

}  // namespace tenon::capi
