// The fence around what the server's threads run: whatever is thrown, full memory among it, ends one piece of work
// and never the thread.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

namespace tenon_http {

/// Why a piece of work did not come to its end.
enum class Failure : uint8_t {
  Memory,  ///< there is too little
  Defect,  ///< of the server: nobody expected the exception
};

/// Of the exception being handled.
Failure failure_of_current_exception() noexcept;

/// Runs `body`. What it throws goes to `failed` as a Failure, and no further: `failed` takes no memory.
template <typename Body, typename Failed>
void fenced(Body&& body, Failed&& failed) noexcept {
  static_assert(std::is_nothrow_invocable_v<Failed, Failure>, "the end of the line must not throw");
  try {
    std::forward<Body>(body)();
  } catch (...) {
    std::forward<Failed>(failed)(failure_of_current_exception());
  }
}

/// Runs `body`; whether it came to its end.
template <typename Body>
bool fenced(Body&& body) noexcept {
  bool is_whole = true;
  fenced(std::forward<Body>(body), [&](Failure) noexcept { is_whole = false; });
  return is_whole;
}

}  // namespace tenon_http
