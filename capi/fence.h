// The border between the engine's exceptions and the C interface's status codes: nothing thrown
// inside gets out, and nothing that a host's callback throws gets in. Every call of a host's function
// is inside call_host or one of its kin (call_host_quietly, Host::call_host_logged); tests/layering
// checks it.
#pragma once

#include <type_traits>
#include <utility>

#include "base/error.h"
#include "handle.h"
#include "tenon/tenon.h"

namespace tenon::capi {

/// The status of the exception being handled; its message becomes tenon_last_error().
tenon_status status_of_current_exception() noexcept;

/// Runs `body` and turns whatever it throws into a status. Every fallible function of the C
/// interface is one call of this; the handles that it checks are in use until it returns.
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

/// Calls a host's function. What it throws, against the rules, becomes Argument naming `callback`:
/// it must not unwind the engine as something that the engine takes for its own.
template <typename Call>
std::invoke_result_t<Call> call_host(const char* callback, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {
    fail(Code::Argument, "callback {} threw an exception; callbacks must return", callback);
  }
}

/// The same where no caller can be told: whether the call returned rather than threw.
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
