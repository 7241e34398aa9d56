#include "base/stack_room.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace tenon {

uintptr_t StackRoom::lowest_address(uintptr_t here) noexcept {
  // The first thread's stack grows up to a limit. Its start is only known from a file, so assume
  // that half of the limit is left.
  if (getpid() == syscall(SYS_gettid)) {  // glibc has gettid since 2.30
    uintptr_t room = kAssumed;
    rlimit limit{};
    if (getrlimit(RLIMIT_STACK, &limit) == 0) {
      room = std::min<uintptr_t>(limit.rlim_cur, uintptr_t{8} << 20) / 2;
    }
    return here - std::min(here, room);
  }
  pthread_attr_t attributes;
  uintptr_t lowest = here - kAssumed;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return lowest;
  void* begin = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
    lowest = reinterpret_cast<uintptr_t>(begin) + std::min<uintptr_t>(kReserve, size / 2);
  }
  pthread_attr_destroy(&attributes);
  return lowest;
}

}  // namespace tenon
