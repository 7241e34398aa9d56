#include "fiber.h"

#include <cstdlib>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define TENON_SANITIZED_STACKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_SANITIZED_STACKS 1
#endif
#endif
#ifdef TENON_SANITIZED_STACKS
#include <sanitizer/common_interface_defs.h>
#endif

namespace tenon::cuda::emulator {
namespace {

/// Sanitizer frames are several times as large.
#ifdef TENON_SANITIZED_STACKS
constexpr size_t kStackBytes = size_t{256} << 10;
#else
constexpr size_t kStackBytes = size_t{64} << 10;
#endif

thread_local Fiber* starting = nullptr;

#ifdef TENON_SANITIZED_STACKS
void before_switch(void** fake, const void* bottom, size_t size) {
  __sanitizer_start_switch_fiber(fake, bottom, size);
}
void after_switch(void* fake, const void** bottom, size_t* size) {
  __sanitizer_finish_switch_fiber(fake, bottom, size);
}
#else
void before_switch(void**, const void*, size_t) {}
void after_switch(void*, const void**, size_t*) {}
#endif

}  // namespace

#if defined(__x86_64__)
// Saves callee-saved registers (System V ABI, 3.2.1) and the stack pointer, and switches stacks.
extern "C" void tenon_switch_stack(void** from, void* to);
asm(R"(
.text
.hidden tenon_switch_stack
.globl tenon_switch_stack
.type tenon_switch_stack, @function
tenon_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tenon_switch_stack, .-tenon_switch_stack
)");
#endif

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {
  memory_ = static_cast<std::byte*>(std::aligned_alloc(64, kStackBytes));
  if (memory_ == nullptr) throw std::bad_alloc();
#if defined(__x86_64__)
  // Looks like a call: a return address, six registers below it, and the stack 8 bytes off 16.
  auto* top = reinterpret_cast<void**>(memory_ + kStackBytes) - 1;
  *top = nullptr;
  *--top = reinterpret_cast<void*>(&Fiber::start);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  own_ = top;
#else
  getcontext(&own_);
  own_.uc_stack.ss_sp = memory_;
  own_.uc_stack.ss_size = kStackBytes;
  own_.uc_link = nullptr;
  makecontext(&own_, &Fiber::start, 0);
#endif
}

Fiber::~Fiber() { std::free(memory_); }

void Fiber::start() {
  Fiber* self = starting;
  after_switch(nullptr, &self->resumer_bottom_, &self->resumer_size_);
  for (;;) {
    self->body_();
    self->give_way();
  }
}

void Fiber::resume() {
  starting = this;
  before_switch(&resumer_fake_, memory_, kStackBytes);
#if defined(__x86_64__)
  tenon_switch_stack(&resumer_, own_);
#else
  swapcontext(&resumer_, &own_);
#endif
  after_switch(resumer_fake_, nullptr, nullptr);
}

void Fiber::give_way() {
  before_switch(&own_fake_, resumer_bottom_, resumer_size_);
#if defined(__x86_64__)
  tenon_switch_stack(&own_, resumer_);
#else
  swapcontext(&own_, &resumer_);
#endif
  after_switch(own_fake_, &resumer_bottom_, &resumer_size_);
}

}  // namespace tenon::cuda::emulator
