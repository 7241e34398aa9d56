#include "base/stack_room.h"

#include <algorithm>

#include "base/windows/windows_api.h"

namespace tenon {

uintptr_t StackRoom::lowest_address(uintptr_t here) noexcept {
  ULONG_PTR begin = 0;
  ULONG_PTR end = 0;
  ::GetCurrentThreadStackLimits(&begin, &end);
  if (begin >= here || here > end) return here - std::min(here, kAssumed);  // a fiber of the host
  return begin + std::min<uintptr_t>(kReserve, (end - begin) / 2);
}

}  // namespace tenon
