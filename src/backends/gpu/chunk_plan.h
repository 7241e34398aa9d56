// Where parts of memory lie in a few large allocations, handed out linearly: drivers give a few thousand
// allocations at most, and each of limited size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backends/common/failure.h"
#include "backends/common/sizes.h"

namespace tenon::gpu {

class ChunkPlan {
 public:
  struct Place {
    uint32_t chunk;
    uint64_t offset;
  };

  /// No chunk is larger than `largest_bytes`.
  explicit ChunkPlan(uint64_t largest_bytes) : largest_bytes_(largest_bytes) {}

  /// A place for `bytes` at a multiple of kAlignment; LIMIT naming `what` where no chunk holds them.
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

  /// Bytes of each chunk.
  [[nodiscard]] const std::vector<uint64_t>& sizes() const { return sizes_; }

  static constexpr uint64_t kAlignment = 256;  // a device's line, and any vector load

 private:
  uint64_t largest_bytes_;
  std::vector<uint64_t> sizes_;
};

}  // namespace tenon::gpu
