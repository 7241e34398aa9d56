// The floating-point environment of all arithmetic in the engine, whatever the host has set.
#pragma once

#include <cfenv>

namespace tenon {

/// Sets round to nearest, no flushing of denormals and no traps for its lifetime. Then restores the
/// calling thread's environment, status flags included.
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
