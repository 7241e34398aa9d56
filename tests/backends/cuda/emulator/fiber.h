// Cooperative threads of execution on one host thread.
#pragma once

#include <cstddef>
#include <functional>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace tenon::cuda::emulator {

/// Runs a function repeatedly, each time until it ends or yields.
class Fiber {
 public:
  /// `body` is called by the first resume() after each end.
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Continues the body until it yields or ends.
  void resume();
  /// Called in the body: returns to the resumer.
  void give_way();

 private:
  static void start();

  std::function<void()> body_;
  std::byte* memory_ = nullptr;
#if defined(__x86_64__)
  void* own_ = nullptr;      ///< stack pointer of the stopped fiber
  void* resumer_ = nullptr;  ///< stack pointer of its resumer
#else
  ucontext_t own_;
  ucontext_t resumer_;
#endif
  // Stack information for AddressSanitizer.
  void* own_fake_ = nullptr;
  void* resumer_fake_ = nullptr;
  const void* resumer_bottom_ = nullptr;
  size_t resumer_size_ = 0;
};

}  // namespace tenon::cuda::emulator
