// The account that a context keeps of its device's memory, and the choice of a device: the same for
// every driver.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "backends/common/failure.h"

namespace tenon::gpu {

/// Size of an allocation: buffers are filled and copied in words.
inline uint64_t allocated_bytes(uint64_t size_bytes) {
  return (std::max<uint64_t>(size_bytes, 1) + 15) / 16 * 16;
}

/// Bytes of a device that a context may take, and has taken. Any number of threads may read it.
class MemoryAccount {
 public:
  /// Limit that leaves free what a device keeps for others: the larger of 1 GiB and 5 %.
  static uint64_t default_limit(uint64_t available, uint64_t total) {
    constexpr uint64_t kLeastFree = uint64_t{1} << 30;
    return available - std::min(available, std::max(kLeastFree, total / 20));
  }

  void set_limit(uint64_t bytes) noexcept { limit_ = bytes; }
  [[nodiscard]] uint64_t rest() const noexcept {
    const uint64_t used = used_;
    return limit_ - std::min(limit_, used);
  }
  /// Refuses an allocation that passes the limit: NO_MEMORY naming `what`.
  void require(uint64_t bytes, const char* what) const {
    if (bytes <= rest()) return;
    backends::refuse(TENON_BACKEND_NO_MEMORY,
                     "no memory for {} ({} bytes): {} of the limit of {} are taken", what, bytes,
                     used_.load(), limit_);
  }
  void add(uint64_t bytes) noexcept { used_ += bytes; }
  void remove(uint64_t bytes) noexcept { used_ -= bytes; }

 private:
  uint64_t limit_ = 0;
  std::atomic<uint64_t> used_ = 0;
};

/// Device `index` of those that a driver lists: ARGUMENT if there is none, UNSUPPORTED if it cannot
/// be used.
template <class Device>
Device usable_device(std::vector<Device> all, uint32_t index) {
  if (index >= all.size()) {
    backends::refuse(TENON_BACKEND_ARGUMENT, "there is no device {}; there are {}", index,
                     all.size());
  }
  if (!all[index].unavailable.empty()) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "{}: {}", all[index].name, all[index].unavailable);
  }
  return std::move(all[index]);
}

}  // namespace tenon::gpu
