#include <algorithm>
#include <cstdint>

#include "base/control_groups.h"
#include "base/windows/windows_api.h"

namespace tenon {

// A job's limit on processor time does not reduce the number of threads that help.
uint32_t num_allowed_cpus(System& system) noexcept {
  return std::max<uint32_t>(1, system.num_usable_cpus());
}

uint64_t memory_limit_of_groups(System&) noexcept {
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  if (!::QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &limits,
                                   sizeof limits, nullptr)) {
    return UINT64_MAX;
  }
  uint64_t least = UINT64_MAX;
  const DWORD flags = limits.BasicLimitInformation.LimitFlags;
  if ((flags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) != 0) {
    least = std::min<uint64_t>(least, limits.ProcessMemoryLimit);
  }
  if ((flags & JOB_OBJECT_LIMIT_JOB_MEMORY) != 0) {
    least = std::min<uint64_t>(least, limits.JobMemoryLimit);
  }
  return least;
}

}  // namespace tenon
