// Carries a program's progress function, and what it throws, through the C interface. For the other
// headers, not for programs.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <tenon/error.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

/// Lives during one call of the C interface, which gets `call` and the address of this object.
struct Progress {
  const std::function<bool(double fraction)>& function;
  std::exception_ptr thrown{};

  static int32_t call(void* user, double fraction) noexcept {
    auto* self = static_cast<Progress*>(user);
    try {
      return self->function(fraction) ? 0 : 1;
    } catch (...) {
      self->thrown = std::current_exception();
      return 1;
    }
  }
  /// Behind the call: throws what the function threw, else what `status` says.
  void check(tenon_status status) const {
    if (thrown) std::rethrow_exception(thrown);
    v1::check(status);
  }
};

}  // namespace detail
}  // namespace v1
}  // namespace tenon
