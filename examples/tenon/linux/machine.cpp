// Facts about the machine and the process for `tenon bench`.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "bench_machine.h"

namespace tenon_program {

size_t last_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return static_cast<size_t>(std::max(bytes, 0L));
}

uint64_t resident_bytes() {
  unsigned long long size = 0;
  unsigned long long resident = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "r"),
                                                             std::fclose);
  if (!file || std::fscanf(file.get(), "%llu %llu", &size, &resident) != 2) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void PeakMemory::restart() {
  // Writing 5 resets the peak to the current size (proc(5)).
  std::ofstream("/proc/self/clear_refs") << "5";
}

uint64_t PeakMemory::bytes() const {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    unsigned long long kib = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %llu", &kib) == 1) return uint64_t{kib} * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace tenon_program
