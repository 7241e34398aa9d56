// Barrier between the engine's exceptions and the status codes of the C interface. Exceptions never
// leave the library, and those of a host's callback never enter the engine. Every call of a host's
// function is inside call_host or a variant (call_host_quietly, Host::call_host_logged);
// tests/layering checks it.
#pragma once

#include <type_traits>
#include <utility>

#include "base/error.h"
#include "handle.h"
#include "tenon/tenon.h"

namespace tenon::capi {

/// Status for the exception being handled; its message becomes tenon_last_error().
tenon_status status_of_current_exception() noexcept;

/// Runs `body` and turns exceptions into a status. Every fallible function of the C interface is
/// one call of fence(); the handles that it checks are in use until it returns.
template <typename Body>
tenon_status fence(Body&& body) noexcept {
  const HandlesInUse handles;
  try {
    std::forward<Body>(body)();
    return TENON_OK;
  } catch (...) {
    return status_of_current_exception();
  }
}

/// Calls a host's function. An exception, against the rules, becomes Argument naming `callback`, so
/// that the engine cannot take it for its own.
template <typename Call>
std::invoke_result_t<Call> call_host(const char* callback, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {
    fail(Code::Argument, "callback {} threw an exception; callbacks must return", callback);
  }
}

/// Variant for calls without a caller to inform; false if the function threw.
template <typename Call>
bool call_host_quietly(Call&& call) noexcept {
  try {
    std::forward<Call>(call)();
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace tenon::capi
