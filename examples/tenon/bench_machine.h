// What a speed is measured against: the machine's own figures, taken by this program itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tenon_program {

/// Of the last cache, as the system tells: a virtual machine may show the whole of a cache that it
/// shares. 0 where there is none or it is not told.
size_t last_cache_bytes();

/// Bytes per second that `threads` threads read together from memory in one sequential stream each:
/// the median of several passes over a block that no cache holds, on 2 MiB pages where the system
/// gives them. A pass takes about as long as a token of a model of that size, so that what disturbs
/// the machine disturbs both alike. Takes some tenths of a second.
double stream_read_rate(uint32_t threads);

/// stream_read_rate() that is at most half a minute old: asked for behind each cell, it is measured
/// anew unless the last time was so near, as cells of a few seconds are. What the memory gives
/// changes with the neighbours, and measuring it more often would take longer than what it is for.
class RecentStreamRate {
 public:
  double get(uint32_t threads);

 private:
  double rate_ = 0;
  uint32_t threads_ = 0;
  std::chrono::steady_clock::time_point when_{};
};

/// Cycles per second of one core while it computes, from a chain of additions that each take a
/// cycle. 0 where this processor's additions are not known to.
double core_frequency();

/// Bytes of memory that this process holds now; 0 where the system does not tell.
uint64_t resident_bytes();

/// Most bytes of memory that this process held since restart(), or since it began where the system
/// cannot start again.
class PeakMemory {
 public:
  void restart();
  [[nodiscard]] uint64_t bytes() const;
};

}  // namespace tenon_program
