#include "base/stack_room.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/sanitized.h"

namespace tenon {
namespace {

// Covers the steps between two checks, and the unwinder, which takes some KB.
#if TENON_ADDRESS_SANITIZED
constexpr uintptr_t kReserve = uintptr_t{192} << 10;  // its frames are several times as large
#else
constexpr uintptr_t kReserve = uintptr_t{48} << 10;
#endif
// Assumed room if the stack's size is unknown.
constexpr uintptr_t kAssumed = uintptr_t{64} << 10;

}  // namespace

StackRoom::StackRoom() noexcept {
  const char mark = 0;
  const auto here = reinterpret_cast<uintptr_t>(&mark);
  uintptr_t room = kAssumed;
  // The first thread's stack grows up to a limit. Its start is only known from a file, so assume
  // that half of the limit is left.
  if (getpid() == syscall(SYS_gettid)) {  // glibc has gettid since 2.30
    rlimit limit{};
    if (getrlimit(RLIMIT_STACK, &limit) == 0) {
      room = std::min<uintptr_t>(limit.rlim_cur, uintptr_t{8} << 20) / 2;
    }
    lowest_ = here - std::min(here, room);
    return;
  }
  pthread_attr_t attributes;
  lowest_ = here - room;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* begin = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
    lowest_ = reinterpret_cast<uintptr_t>(begin) + std::min<uintptr_t>(kReserve, size / 2);
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace tenon
