// Facts about the machine and the process for `tenon bench`.
#include <mach/mach.h>
#include <sys/resource.h>
#include <sys/sysctl.h>

#include "bench_machine.h"

namespace tenon_program {
namespace {

/// A size in bytes that the kernel tells by name; 0 if it does not know it.
uint64_t kernel_size(const char* name) {
  uint64_t bytes = 0;
  size_t size = sizeof bytes;
  return sysctlbyname(name, &bytes, &size, nullptr, 0) == 0 ? bytes : 0;
}

}  // namespace

size_t last_cache_bytes() {
  // Apple's processors have no third level for a core; the second one is the performance cores'.
  for (const char* name : {"hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize"}) {
    if (const uint64_t bytes = kernel_size(name); bytes > 0) return bytes;
  }
  return 0;
}

uint64_t resident_bytes() {
  mach_task_basic_info_data_t info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  const kern_return_t result = task_info(mach_task_self(), MACH_TASK_BASIC_INFO,
                                         reinterpret_cast<task_info_t>(&info), &count);
  return result == KERN_SUCCESS ? info.resident_size : 0;
}

void PeakMemory::restart() {}  // the system cannot

uint64_t PeakMemory::bytes() const {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss);  // bytes on this system
}

}  // namespace tenon_program
