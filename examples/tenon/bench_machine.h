// Measures the machine's own limits, which speeds are compared with.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tenon_program {

/// Size of the last-level cache, as the system reports it: a virtual machine may report the whole
/// of a shared cache. 0 if absent or unknown.
size_t last_cache_bytes();

/// Bytes per second that `threads` threads read together from memory, each in one sequential
/// stream. Takes the median of several passes over a block larger than any cache, on 2 MiB pages if
/// available. A pass takes about as long as a token of a model of that size, so that disturbances
/// affect both alike. Takes some tenths of a second.
double stream_read_rate(uint32_t threads);

/// Caches stream_read_rate() for up to half a minute. Memory bandwidth varies with the machine's
/// other load, so each cell needs a recent value; measuring after every short cell would take
/// longer than the cells.
class RecentStreamRate {
 public:
  double get(uint32_t threads);

 private:
  double rate_ = 0;
  uint32_t threads_ = 0;
  std::chrono::steady_clock::time_point when_{};
};

/// Core frequency while computing, in cycles per second, from a chain of additions of one cycle
/// each. 0 on processors whose additions are not known to take one cycle.
double core_frequency();

/// Resident bytes of this process; 0 if unknown.
uint64_t resident_bytes();

/// Peak resident bytes of this process since restart(), or since its beginning if the system cannot
/// restart the count.
class PeakMemory {
 public:
  void restart();
  [[nodiscard]] uint64_t bytes() const;
};

}  // namespace tenon_program
