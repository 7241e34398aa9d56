// Operating system failures that keep their errno, for hosts with their own error codes.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace tenon {

/// Error with code Io.
class SystemError : public Error {
 public:
  /// number: positive, from <errno.h>.
  SystemError(int number, const std::string& message) : Error(Code::Io, message), number_(number) {}
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

/// Throws SystemError with a formatted message.
template <typename... Args>
[[noreturn]] void fail_system(int number, fmt::format_string<Args...> text, Args&&... args) {
  throw SystemError(number, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace tenon
