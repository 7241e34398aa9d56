// Memory accounting of a context and the choice of a device, shared by all drivers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "abi/failure.h"

namespace tenon::gpu {

/// Allocation size: buffers are filled and copied in words.
inline uint64_t allocated_bytes(uint64_t size_bytes) {
  return (std::max<uint64_t>(size_bytes, 1) + 15) / 16 * 16;
}

/// Bytes of a device that a context may take and has taken. Any thread may read it.
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
  /// Throws NO_MEMORY that names `what` if an allocation exceeds the limit.
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

/// Device `index` in a driver's list. Throws ARGUMENT if it does not exist, UNSUPPORTED if it is
/// unusable.
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
