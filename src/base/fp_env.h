// The floating-point environment that all arithmetic of the engine runs in, whatever the host set.
#pragma once

#include <cfenv>

namespace tenon {

/// For its lifetime: round to nearest, no flushing of denormals, no traps. Restores the environment
/// of the calling thread afterwards, status flags included.
class ScopedFpEnv {
 public:
  ScopedFpEnv() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~ScopedFpEnv() { std::fesetenv(&saved_); }
  ScopedFpEnv(const ScopedFpEnv&) = delete;
  ScopedFpEnv& operator=(const ScopedFpEnv&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace tenon
