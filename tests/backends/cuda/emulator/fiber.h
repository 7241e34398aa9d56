// Threads of execution that give way to each other when they say so, on one thread of the host.
#pragma once

#include <cstddef>
#include <functional>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace tenon::cuda::emulator {

/// Runs a function again and again, each time until it ends or gives way.
class Fiber {
 public:
  /// `body` is called by the first resume() after each end of it.
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Goes on with the body; returns when it gives way, or has ended.
  void resume();
  /// Called in the body: goes back to who resumed.
  void give_way();

 private:
  static void start();

  std::function<void()> body_;
  std::byte* memory_ = nullptr;
#if defined(__x86_64__)
  void* own_ = nullptr;      ///< stack pointer where the fiber stopped
  void* resumer_ = nullptr;  ///< the same of who resumed it
#else
  ucontext_t own_;
  ucontext_t resumer_;
#endif
  // What the address sanitizer wants to know of stacks.
  void* own_fake_ = nullptr;
  void* resumer_fake_ = nullptr;
  const void* resumer_bottom_ = nullptr;
  size_t resumer_size_ = 0;
};

}  // namespace tenon::cuda::emulator
