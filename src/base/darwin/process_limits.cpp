#include <algorithm>
#include <cstdint>

#include "base/control_groups.h"
#include "base/darwin/system_numbers.h"

namespace tenon {

/// Performance cores, where there are several kinds: threads meet after every phase, so one on an
/// efficiency core would hold back all others.
uint32_t num_allowed_cpus(System& system) noexcept {
  const uint32_t usable = std::max<uint32_t>(1, system.num_usable_cpus());
  const uint32_t performance =
      kernel_number("hw.nperflevels") > 1 ? kernel_number("hw.perflevel0.logicalcpu") : 0;
  return performance == 0 ? usable : std::min(usable, performance);
}

// macOS has no groups with limits.
uint64_t memory_limit_of_groups(System&) noexcept { return UINT64_MAX; }

}  // namespace tenon
