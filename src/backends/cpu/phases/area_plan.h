// Places activations in their area: buffers that are alive in the same phase do not overlap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tenon::cpu {

/// A buffer in the plan of the activation area.
struct AreaBuffer {
  uint64_t bytes;
  int32_t first, last;  // phases
  uint64_t offset = 0;
};

/// Places buffers by first fit, largest first; buffers alive in the same phase do not overlap.
/// Returns the area's size.
inline uint64_t place_buffers(std::vector<AreaBuffer>& buffers) {
  std::vector<AreaBuffer*> by_size;
  for (AreaBuffer& buffer : buffers) by_size.push_back(&buffer);
  std::sort(by_size.begin(), by_size.end(),
            [](const AreaBuffer* a, const AreaBuffer* b) { return a->bytes > b->bytes; });
  uint64_t size = 0;
  for (size_t i = 0; i < by_size.size(); ++i) {
    AreaBuffer& buffer = *by_size[i];
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t j = 0; j < i; ++j) {
        const AreaBuffer& other = *by_size[j];
        const bool at_once = other.first <= buffer.last && buffer.first <= other.last;
        const bool overlap = other.offset < buffer.offset + buffer.bytes &&
                             buffer.offset < other.offset + other.bytes;
        if (!at_once || !overlap) continue;
        buffer.offset = other.offset + other.bytes;
        moved = true;
      }
    }
    size = std::max(size, buffer.offset + buffer.bytes);
  }
  return size;
}

}  // namespace tenon::cpu
