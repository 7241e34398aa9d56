#include "base/stack_room.h"

#include <pthread.h>

#include <algorithm>

namespace tenon {

uintptr_t StackRoom::lowest_address(uintptr_t here) noexcept {
  const pthread_t self = ::pthread_self();
  const auto end = reinterpret_cast<uintptr_t>(::pthread_get_stackaddr_np(self));
  const uintptr_t size = ::pthread_get_stacksize_np(self);
  const uintptr_t begin = end - std::min(end, size);
  if (begin >= here || here > end) return here - std::min(here, kAssumed);  // a fiber of the host
  return begin + std::min<uintptr_t>(kReserve, size / 2);
}

}  // namespace tenon
