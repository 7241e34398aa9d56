// Failures of a backend: exceptions inside, a status and a sentence at every function of the plugin
// ABI. No exception leaves the fence.
#pragma once

#include <fmt/core.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/backend.h"

namespace tenon::backends {

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

/// Throws a Failure with a formatted message: what, where, value, limit.
template <typename... Args>
[[noreturn]] void refuse(tenon_status status, fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(status, fmt::format(text, std::forward<Args>(args)...));
}

/// Throws a failure whose sentence the host has set already.
[[noreturn]] inline void fail_as_host(tenon_status status) { throw Failure(status, {}); }

/// Sends the sentence of a failure to the host; returns the status. `backend` is named in the
/// sentence.
inline tenon_status report(const tenon_host* host, const char* backend, tenon_status status,
                           std::string_view text) noexcept {
  if (host == nullptr || host->set_error == nullptr || text.empty()) return status;
  try {
    const std::string sentence = fmt::format("{}: {}", backend, text);
    host->set_error(host->user, sentence.data(), sentence.size());
  } catch (...) {  // no memory for the sentence: sends the plain text
    host->set_error(host->user, text.data(), text.size());
  }
  return status;
}

/// Runs `body` and converts exceptions to a status.
template <typename Body>
tenon_status fence(const tenon_host* host, const char* backend, Body&& body) noexcept {
  try {
    body();
    return TENON_BACKEND_OK;
  } catch (const Failure& failure) {
    return report(host, backend, failure.status(), failure.what());
  } catch (const std::bad_alloc&) {
    return report(host, backend, TENON_BACKEND_NO_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return report(host, backend, TENON_BACKEND_INTERNAL, error.what());
  } catch (...) {
    return report(host, backend, TENON_BACKEND_INTERNAL, "unknown failure");
  }
}

}  // namespace tenon::backends
