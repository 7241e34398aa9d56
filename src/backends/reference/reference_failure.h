// How this backend fails: an exception inside, a status and one sentence at every function of the
// plugin ABI. Nothing passes the fence.
#pragma once

#include <fmt/core.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/backend.h"

namespace tenon::reference {

/// A failure with a status of the ABI.
class Failure : public std::exception {
 public:
  Failure(tenon_status status, std::string text) : status_(status), text_(std::move(text)) {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] tenon_status status() const noexcept { return status_; }

 private:
  tenon_status status_;
  std::string text_;
};

/// Throws a Failure with a formatted message.
template <typename... Args>
[[noreturn]] void refuse(tenon_status status, fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(status, fmt::format(text, std::forward<Args>(args)...));
}

/// Passes the sentence of a failure to the host; returns the status.
inline tenon_status report(const tenon_host* host, tenon_status status,
                           std::string_view text) noexcept {
  if (host != nullptr && host->set_error != nullptr) {
    host->set_error(host->user, text.data(), text.size());
  }
  return status;
}

/// Runs `body` and turns what it throws into a status.
template <typename Body>
tenon_status fence(const tenon_host* host, Body&& body) noexcept {
  try {
    body();
    return TENON_BACKEND_OK;
  } catch (const Failure& failure) {
    return report(host, failure.status(), failure.what());
  } catch (const std::bad_alloc&) {
    return report(host, TENON_BACKEND_NO_MEMORY, "reference: out of memory");
  } catch (const std::exception& error) {
    return report(host, TENON_BACKEND_INTERNAL, error.what());
  } catch (...) {
    return report(host, TENON_BACKEND_INTERNAL, "reference: unknown failure");
  }
}

}  // namespace tenon::reference
