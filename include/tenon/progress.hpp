// Carries a program's progress and log functions, and their exceptions, through the C interface.
// For the other headers, not for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <tenon/error.hpp>
#include <tenon/options.hpp>

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
  /// After the call: rethrows the function's exception, else throws the failure of `status`.
  void check(tenon_status status) const {
    if (thrown) std::rethrow_exception(thrown);
    v1::check(status);
  }
};

/// Progress of the loading that runs on this thread. A model's callbacks share one `user`, and the
/// log's must outlive a loading.
class LoadingProgress {
 public:
  explicit LoadingProgress(Progress& progress) : outer_(current()) { current() = &progress; }
  ~LoadingProgress() { current() = outer_; }
  LoadingProgress(const LoadingProgress&) = delete;
  LoadingProgress& operator=(const LoadingProgress&) = delete;

  static int32_t call(void*, double fraction) noexcept {
    return Progress::call(current(), fraction);
  }

 private:
  static Progress*& current() noexcept {
    thread_local Progress* current = nullptr;
    return current;
  }
  Progress* outer_;  // of an outer loading whose progress function loads this model
};

/// A host's log in the form of the C interface.
inline void write_log(void* user, uint32_t level, const char* text, uint64_t length) noexcept {
  try {
    static_cast<const Log*>(user)->write(level, {text, static_cast<size_t>(length)});
  } catch (...) {  // a message must not become a failure
  }
}

}  // namespace detail
}  // namespace v1
}  // namespace tenon
