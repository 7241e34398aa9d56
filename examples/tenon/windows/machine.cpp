// Facts about the machine and the process for `tenon bench`.
#include <algorithm>
#include <vector>

#include "bench_machine.h"
#include "windows_api.h"

namespace tenon_program {
namespace {

PROCESS_MEMORY_COUNTERS memory_counters() {
  PROCESS_MEMORY_COUNTERS counters{};
  ::K32GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof counters);
  return counters;
}

}  // namespace

size_t last_cache_bytes() {
  DWORD size = 0;
  (void)::GetLogicalProcessorInformation(nullptr, &size);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> all(size / sizeof all[0] + 1);
  size = static_cast<DWORD>(all.size() * sizeof all[0]);
  if (!::GetLogicalProcessorInformation(all.data(), &size)) return 0;
  size_t largest = 0;
  for (size_t i = 0; i < size / sizeof all[0]; ++i) {
    if (all[i].Relationship != RelationCache || all[i].Cache.Level != 3) continue;
    largest = std::max<size_t>(largest, all[i].Cache.Size);
  }
  return largest;
}

uint64_t resident_bytes() { return memory_counters().WorkingSetSize; }

// Windows keeps one peak for the life of a process.
void PeakMemory::restart() {}

uint64_t PeakMemory::bytes() const { return memory_counters().PeakWorkingSetSize; }

}  // namespace tenon_program
