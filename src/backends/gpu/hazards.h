// Finds the barriers in a list of stages: a stage needs one if it reads data written since the last
// barrier, or writes data read or written since.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::gpu {

/// Bytes [begin, end) read or written by a stage, in any numbering that keeps separate memory
/// apart.
struct Extent {
  uint64_t begin;
  uint64_t end;
};

class Hazards {
 public:
  /// Adds the next stage; returns true if it needs a barrier before it.
  bool needs_barrier(std::span<const Extent> reads, std::span<const Extent> writes) {
    const bool needs =
        overlap(reads, written_) || overlap(writes, written_) || overlap(writes, read_);
    if (needs) {
      read_.clear();
      written_.clear();
    }
    read_.insert(read_.end(), reads.begin(), reads.end());
    written_.insert(written_.end(), writes.begin(), writes.end());
    return needs;
  }

 private:
  static bool overlap(std::span<const Extent> some, std::span<const Extent> others) {
    for (const Extent& a : some) {
      for (const Extent& b : others) {
        if (a.begin < b.end && b.begin < a.end) return true;
      }
    }
    return false;
  }

  // Accesses since the last barrier.
  std::vector<Extent> read_;
  std::vector<Extent> written_;
};

}  // namespace tenon::gpu
