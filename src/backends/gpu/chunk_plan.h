// Places memory linearly in a few large allocations: drivers allow a few thousand, each of limited
// size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "abi/failure.h"
#include "abi/sizes.h"

namespace tenon::gpu {

class ChunkPlan {
 public:
  struct Place {
    uint32_t chunk;
    uint64_t offset;
  };

  /// Limits chunks to `largest_bytes`.
  explicit ChunkPlan(uint64_t largest_bytes) : largest_bytes_(largest_bytes) {}

  /// Reserves `bytes` at a multiple of kAlignment. Throws LIMIT that names `what` if no chunk holds
  /// them.
  Place add(uint64_t bytes, std::string_view what) {
    const uint64_t size = backends::add(bytes, kAlignment - 1, what) / kAlignment * kAlignment;
    if (size > largest_bytes_) {
      backends::refuse(TENON_BACKEND_LIMIT, "\"{}\" has {} bytes; one allocation of the device {}",
                       what, bytes, largest_bytes_);
    }
    if (sizes_.empty() || size > largest_bytes_ - sizes_.back()) sizes_.push_back(0);
    const Place place{static_cast<uint32_t>(sizes_.size() - 1), sizes_.back()};
    sizes_.back() += size;
    return place;
  }

  /// Sizes of the chunks in bytes.
  [[nodiscard]] const std::vector<uint64_t>& sizes() const { return sizes_; }

  static constexpr uint64_t kAlignment = 256;  // a device's cache line, and the widest vector load

 private:
  uint64_t largest_bytes_;
  std::vector<uint64_t> sizes_;
};

}  // namespace tenon::gpu
