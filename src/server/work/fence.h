// Exception barrier around work on the server's threads. Any exception, bad_alloc included, ends
// one piece of work and never the thread.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

namespace tenon_http {

/// Reason why a piece of work failed.
enum class Failure : uint8_t {
  Memory,  ///< out of memory
  Defect,  ///< a bug of the server: an unexpected exception
};

/// Failure that describes the exception being handled.
Failure failure_of_current_exception() noexcept;

/// Runs `body`; passes any exception to `failed` as a Failure. `failed` must not allocate.
template <typename Body, typename Failed>
void fenced(Body&& body, Failed&& failed) noexcept {
  static_assert(std::is_nothrow_invocable_v<Failed, Failure>, "the end of the line must not throw");
  try {
    std::forward<Body>(body)();
  } catch (...) {
    std::forward<Failed>(failed)(failure_of_current_exception());
  }
}

/// Runs `body`; false if it threw.
template <typename Body>
bool fenced(Body&& body) noexcept {
  bool is_whole = true;
  fenced(std::forward<Body>(body), [&](Failure) noexcept { is_whole = false; });
  return is_whole;
}

}  // namespace tenon_http
